// A temporary folder that stands for the files of a machine, and is removed when the test ends.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <system_error>

namespace paceline::testing {

/// Paths in it begin with a slash; missing folders are made.
class FileTree final {
 public:
  FileTree() : root_((std::filesystem::temp_directory_path() / "paceline-XXXXXX").string()) {
    if (::mkdtemp(root_.data()) == nullptr) throw std::runtime_error("cannot make " + root_);
  }
  ~FileTree() {
    std::error_code ignored;
    std::filesystem::remove_all(root_, ignored);
  }
  FileTree(const FileTree&) = delete;
  FileTree& operator=(const FileTree&) = delete;

  const std::string& root() const { return root_; }

  void folder(const std::string& path) const { std::filesystem::create_directories(root_ + path); }
  void write(const std::string& path, const std::string& text) const {
    folder(std::filesystem::path(path).parent_path());
    std::ofstream(root_ + path) << text;
  }
  void link(const std::string& path, const std::string& target) const {
    folder(std::filesystem::path(path).parent_path());
    std::filesystem::create_symlink(target, root_ + path);
  }

 private:
  std::string root_;
};

}  // namespace paceline::testing
