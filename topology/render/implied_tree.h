// A tree of PCIe bridges where a model has only statements such as a matrix makes.
#pragma once

#include "topology/model/host_model.h"

namespace paceline::topology {

/// Gives each device that has no bridge one. Devices that are PIX to each other share a switch, and
/// PXB ones a tree of two levels:
///
///   PIX: a ── switch ── b          PXB: a ── switch ── switch ── switch ── c
///
/// below a host bridge of the NUMA node that one of them is near. Where statements contradict each
/// other, their devices come directly below it. Stated NVL between GPUs becomes links, unless there
/// are links already. The result is to be drawn: it has not gone through finish().
HostModel with_implied_tree(HostModel host);

}  // namespace paceline::topology
