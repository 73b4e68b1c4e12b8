// File checks for users, owners and privileges that the test process does not have.

#include "loader/trust.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace tenon {
namespace {

class Trust : public ::testing::Test {
protected:
    Trust() {
        std::string name = ::testing::TempDir() + "tenon-trust-XXXXXX";
        dir_ = std::filesystem::canonical(::mkdtemp(name.data()));
        ::chmod(dir_.c_str(), 0755);
        file_ = dir_ + "/x.so";
        std::ofstream(file_) << "x";
        ::chmod(file_.c_str(), 0644);
        context_.user = ::geteuid();
        context_.library_owner = ::geteuid();
        context_.library_path = "/usr/lib/libtenon.so.0";
    }
    ~Trust() override { std::filesystem::remove_all(dir_); }

    std::string word(bool root_only = false) {
        TrustedFile out;
        const Check no = check_file(file_, {root_only, vouched_}, context_, &out);
        return no ? no->word : "";
    }

    std::string dir_, file_;
    bool vouched_ = false;
    TrustContext context_;
};

TEST_F(Trust, OwnFilesAreTrusted) { EXPECT_EQ(word(), ""); }

TEST_F(Trust, DirectoriesAboveTheLibraryAreExempt) {
    ::chmod(dir_.c_str(), 0777);
    EXPECT_EQ(word(), "unsafe-dir");
    context_.library_path = dir_ + "/libtenon.so.0";
    EXPECT_EQ(word(), "");
    context_.library_path = dir_ + "x/libtenon.so.0";  // another directory
    EXPECT_EQ(word(), "unsafe-dir");
}

TEST_F(Trust, NothingIsExemptUnderElevatedPrivileges) {
    ::chmod(dir_.c_str(), 0777);
    context_.library_path = dir_ + "/libtenon.so.0";
    context_.elevated = true;
    EXPECT_NE(word(), "");
}

TEST_F(Trust, OwnerOfTheLibraryMayOwnPlugins) {
    if (::geteuid() != 0) GTEST_SKIP() << "only root can give files away";
    ASSERT_EQ(::chown(file_.c_str(), 4242, 0), 0);
    EXPECT_EQ(word(), "unsafe-owner");
    context_.library_owner = 4242;
    EXPECT_EQ(word(), "");
    EXPECT_EQ(word(/*root_only=*/true), "unsafe-owner");
}

TEST_F(Trust, OwnerOfTheLibraryMayOwnDirectoriesBelowIt) {
    if (::geteuid() != 0) GTEST_SKIP() << "only root can give files away";
    ASSERT_EQ(::chown(file_.c_str(), 4242, 0), 0);
    ASSERT_EQ(::chown(dir_.c_str(), 4242, 0), 0);
    context_.library_owner = 4242;
    EXPECT_EQ(word(), "unsafe-dir");  // the library is elsewhere
    context_.library_path = std::filesystem::path(dir_).parent_path() / "libtenon.so.0";
    EXPECT_EQ(word(), "");
    context_.library_owner = 4343;
    EXPECT_EQ(word(), "unsafe-owner");
    context_.library_owner = 4242;
    ::chmod(dir_.c_str(), 0775);
    EXPECT_EQ(word(), "unsafe-dir");  // its group may write
}

TEST_F(Trust, OwnerOfTheLibraryMayOwnWhatItsAdministratorNamed) {
    if (::geteuid() != 0) GTEST_SKIP() << "only root can give files away";
    ASSERT_EQ(::chown(file_.c_str(), 4242, 0), 0);
    ASSERT_EQ(::chown(dir_.c_str(), 4242, 0), 0);
    context_.library_owner = 4242;
    vouched_ = true;
    EXPECT_EQ(word(), "");
    EXPECT_EQ(word(/*root_only=*/true), "unsafe-owner");
    context_.library_owner = 4343;
    EXPECT_EQ(word(), "unsafe-owner");
}

TEST_F(Trust, OwnersWithoutANumberAreTheLibrarysOnlyBelowIt) {
    if (::geteuid() != 0) GTEST_SKIP() << "only root can give files away";
    ASSERT_EQ(::chown(file_.c_str(), 4242, 0), 0);
    context_.library_owner = context_.unmapped_owner = 4242;
    EXPECT_EQ(word(), "unsafe-owner");  // any of them
    context_.library_path = std::filesystem::path(dir_).parent_path() / "libtenon.so.0";
    EXPECT_EQ(word(), "");
}

TEST_F(Trust, RelativePathsAreRefusedUnderElevatedPrivileges) {
    context_.elevated = true;
    TrustedFile out;
    const Check no = check_file("x.so", {}, context_, &out);
    ASSERT_TRUE(no);
    EXPECT_STREQ(no->word, "unsafe-dir");
}

TEST_F(Trust, IdentityChangesWithTheFile) {
    FileIdentity before, after;
    ASSERT_TRUE(identify(file_, &before));
    std::ofstream(file_) << "longer than before";
    ASSERT_TRUE(identify(file_, &after));
    EXPECT_TRUE(before.same_file(after));
    EXPECT_FALSE(before == after);
}

}  // namespace
}  // namespace tenon
