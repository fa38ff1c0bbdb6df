// What whole processes do: fork, exit with work queued, MYCHIP_SYNC. Each test runs in a fresh child (death test,
// "threadsafe" style: the test program runs again from its start up to here).
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>

#include "runtime_testing.h"

namespace mychip {
namespace {

using testing::Gate;
using testing::TheDevice;

class ProcessDeathTest : public ::testing::Test {
 protected:
  void SetUp() override { ::testing::FLAGS_gtest_death_test_style = "threadsafe"; }
};

void Say(const std::string& text) { std::fprintf(stderr, "%s\n", text.c_str()); }

[[noreturn]] void ExitWithQueue(bool wait_on_event) {
  alarm(60);  // a hang fails the test
  // Nobody destroys it, so nobody waits for it.
  static Stream* const stream = TheDevice()->CreateStream().release();
  const Event event = Event::Manual();
  if (wait_on_event) (void)stream->Wait(event);
  for (int i = 0; i < 1000; ++i) {
    (void)stream->HostCallback([] { return usleep(10000), OkStatus(); });
  }
  std::thread([last = stream->Record()] { (void)last.Wait(); }).detach();
  std::exit(0);
}

TEST_F(ProcessDeathTest, ExitWithWorkQueued) { EXPECT_EXIT(ExitWithQueue(false), ::testing::ExitedWithCode(0), ""); }
TEST_F(ProcessDeathTest, ExitWithAWaitThatNeverEnds) {
  EXPECT_EXIT(ExitWithQueue(true), ::testing::ExitedWithCode(0), "");
}

[[noreturn]] void ReturnFromExit() {
  alarm(60);
  Device* device = TheDevice();
  std::atexit([] {});
  for (int i = 0; i < 100; ++i) (void)device->compute_stream()->HostCallback([] { return usleep(1000), OkStatus(); });
  device->compute_stream()->Record().OnDone([](const Status& s) { Say("done: " + s.message()); });
  std::exit(0);
}
TEST_F(ProcessDeathTest, WaitersAreToldAtExit) {
  EXPECT_EXIT(ReturnFromExit(), ::testing::ExitedWithCode(0), "done: the process is exiting");
}

#if !defined(__SANITIZE_THREAD__)  // TSan supports no threads after a fork of a multi-threaded process
[[noreturn]] void UseAfterFork() {
  alarm(60);
  Device* device = TheDevice();
  auto stream = device->CreateStream();
  void* memory = device->memory().Allocate(16).value();
  const Event pending = Event::Manual();
  Gate gate;
  (void)stream->HostCallback([&] { return gate.Pass(), OkStatus(); });
  gate.WaitUntilArrived();
  const Event running = stream->Record();
  const pid_t child = fork();
  if (child == 0) {
    alarm(30);
    for (const Status& s :
         {Device::Get(0).status(), stream->HostCallback([] { return OkStatus(); }), stream->Synchronize(),
          stream->status(), running.Wait(), device->Synchronize(), device->memory().Allocate(16).status(),
          device->memory().Free(memory), Device::CopySync(memory, &memory, 8)}) {
      if (s.code() != Code::kFailedPrecondition || s.message().find("forked") == std::string::npos) {
        Say("in the child: " + s.message());
        _exit(1);
      }
    }
    stream.reset();
#if defined(__SANITIZE_ADDRESS__)
    _exit(0);  // what the lost threads held on their stacks counts as leaked
#endif
    std::exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  gate.Open();
  const bool parent_lives = stream->Synchronize().ok();
  Say(parent_lives ? "parent lives" : "parent broken");
  std::exit(WIFEXITED(status) ? WEXITSTATUS(status) : 99);
}
TEST_F(ProcessDeathTest, ForkedChildIsRefused) {
  EXPECT_EXIT(UseAfterFork(), ::testing::ExitedWithCode(0), "parent lives");
}

[[noreturn]] void ForkBeforeUse() {
  alarm(60);
  const pid_t child = fork();
  if (child == 0) {
    auto stream = TheDevice()->CreateStream();
    (void)stream->HostCallback([] { return OkStatus(); });
    std::exit(stream->Synchronize().ok() ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  std::exit(WIFEXITED(status) ? WEXITSTATUS(status) : 99);
}
TEST_F(ProcessDeathTest, ForkBeforeFirstUseIsFine) { EXPECT_EXIT(ForkBeforeUse(), ::testing::ExitedWithCode(0), ""); }
#endif

[[noreturn]] void Synchronous() {
  alarm(60);
  setenv("MYCHIP_SYNC", "1", 1);
  auto stream = TheDevice()->CreateStream();
  int ran = 0;
  bool good = stream->HostCallback([&] { return ++ran, OkStatus(); }).ok() && ran == 1;
  good = good && stream->HostCallback([] { return DataLoss("seen at once"); }).code() == Code::kDataLoss;
  good = good && stream->HostCallback([&] { return ++ran, OkStatus(); }).code() == Code::kDataLoss && ran == 1;
  good = good && stream->Synchronize().code() == Code::kDataLoss;
  good = good && stream->HostCallback([&] { return ++ran, OkStatus(); }).ok() && ran == 2;
  std::exit(good ? 0 : 1);
}
TEST_F(ProcessDeathTest, SyncModeReturnsTheCommandsStatus) {
  EXPECT_EXIT(Synchronous(), ::testing::ExitedWithCode(0), "");
}

[[noreturn]] void SynchronousBehindAnOpenEvent() {
  alarm(60);
  setenv("MYCHIP_SYNC", "1", 1);
  auto stream = TheDevice()->CreateStream();
  const Event mine = Event::Manual();
  std::atomic<int> ran{0};
  bool good = stream->Wait(mine).ok();
  good = good && stream->HostCallback([&] { return ++ran, OkStatus(); }).ok() && ran == 0;
  mine.Signal(OkStatus());
  good = good && stream->HostCallback([&] { return ++ran, OkStatus(); }).ok() && ran == 2;
  std::exit(good ? 0 : 1);
}
TEST_F(ProcessDeathTest, SyncModeDoesNotWaitForWhatTheCallerSignals) {
  EXPECT_EXIT(SynchronousBehindAnOpenEvent(), ::testing::ExitedWithCode(0), "");
}

[[noreturn]] void FaultsFromTheEnvironment() {
  alarm(60);
  setenv("MYCHIP_FAULT", "copy:2", 1);
  Device* device = TheDevice();
  void* memory = device->memory().Allocate(16).value();
  int64_t value = 5;
  const bool good = Device::CopySync(memory, &value, 8).ok() && !Device::CopySync(memory, &value, 8).ok() &&
                    Device::CopySync(memory, &value, 8).ok();
  std::exit(good ? 0 : 1);
}
TEST_F(ProcessDeathTest, FaultsFromTheEnvironment) {
  EXPECT_EXIT(FaultsFromTheEnvironment(), ::testing::ExitedWithCode(0), "");
}

[[noreturn]] void BadValues() {
  setenv("MYCHIP_NUM_DEVICES", "many", 1);
  setenv("MYCHIP_MEMORY_MB", "-3", 1);
  const bool good =
      Device::Count() == 1 && Device::Count() == 1 && TheDevice()->memory().stats().bytes_limit == int64_t{4096} << 20;
  std::exit(good ? 0 : 1);
}
TEST_F(ProcessDeathTest, BadValuesGiveDefaultsAndALine) {
  EXPECT_EXIT(BadValues(), ::testing::ExitedWithCode(0), "warning mychip: MYCHIP_NUM_DEVICES=many is not an integer");
}

}  // namespace
}  // namespace mychip
