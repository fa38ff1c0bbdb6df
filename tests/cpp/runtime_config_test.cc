// Settings of this test program: two small devices. Tests of the settings themselves run in child processes.
#include <cstdlib>

#include "mychip/runtime/config.h"
#include "runtime_testing.h"

namespace mychip {
namespace {

// Set before main and so before anything reads the table.
const bool g_set = [] {
  setenv("MYCHIP_NUM_DEVICES", "2", 0);
  setenv("MYCHIP_MEMORY_MB", "256", 0);
  return true;
}();

TEST(Config, TableHasEveryVariableOnce) {
  std::vector<std::string> names;
  for (const EnvVar& var : Environment()) {
    EXPECT_EQ(var.name.rfind("MYCHIP_", 0), 0u) << var.name;
    EXPECT_FALSE(var.meaning.empty()) << var.name;
    EXPECT_EQ(var.set ? var.value : var.default_value, var.value) << var.name;
    for (const std::string& other : names) EXPECT_NE(other, var.name);
    names.push_back(var.name);
  }
  EXPECT_TRUE(g_set);
  EXPECT_EQ(EnvInt("MYCHIP_NUM_DEVICES", 1, 64), 2);
  EXPECT_EQ(EnvString("MYCHIP_MEMORY_MB"), "256");
  EXPECT_EQ(Device::Count(), 2);
}

TEST(Config, ValueOutOfRangeGivesTheDefault) { EXPECT_EQ(EnvInt("MYCHIP_MEMORY_MB", 1, 8), 4096); }
TEST(Config, Versions) {
  EXPECT_EQ(std::string(Version()).substr(0, 2), "0.");
  EXPECT_EQ(std::string(BuiltForTensorFlow()).substr(0, 5), "2.21.");
}
TEST(ConfigDeathTest, UnknownVariable) { EXPECT_DEATH(EnvString("MYCHIP_NO_SUCH"), "MYCHIP_NO_SUCH has no row"); }

}  // namespace
}  // namespace mychip
