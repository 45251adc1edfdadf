//! The ioctl(2) requests that change something on a descriptor that is open for reading only.

/// What an ioctl(2) request changes on a descriptor that is open for reading only.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Request {
    /// Flags of the inode itself, as so many bytes behind the argument.
    InodeFlags(usize),
    /// Refused under every policy.
    Forbidden,
    /// Refused under every policy too, and known to some file systems only; all that know it read a structure first.
    Special,
}

/// The requests that the filter stops (linux/fs.h, btrfs.h, fscrypt.h, msdos_fs.h, fsverity.h, tty, SCSI, NVMe).
pub const REQUESTS: &[(u32, Request)] = &[
    (0x4008_6602, Request::InodeFlags(4)), // FS_IOC_SETFLAGS: the kernel reads an int, whatever the number says
    (0x4004_6602, Request::InodeFlags(4)), // FS_IOC32_SETFLAGS
    (0x4008_7602, Request::InodeFlags(4)), // FS_IOC_SETVERSION
    (0x4004_7602, Request::InodeFlags(4)), // FS_IOC32_SETVERSION
    (0x4008_6604, Request::InodeFlags(4)), // EXT4_IOC_SETVERSION
    (0x4004_6604, Request::InodeFlags(4)), // EXT4_IOC32_SETVERSION
    (0x401C_5820, Request::InodeFlags(28)), // FS_IOC_FSSETXATTR
    (0x4004_7211, Request::InodeFlags(4)), // FAT_IOCTL_SET_ATTRIBUTES
    (0x4008_941A, Request::InodeFlags(8)), // BTRFS_IOC_SUBVOL_SETFLAGS
    (0x4080_6685, Request::Special),       // FS_IOC_ENABLE_VERITY
    (0x800C_6613, Request::Special),       // FS_IOC_SET_ENCRYPTION_POLICY
    (0xC040_6618, Request::Special),       // FS_IOC_REMOVE_ENCRYPTION_KEY
    (0xC040_6619, Request::Special),       // FS_IOC_REMOVE_ENCRYPTION_KEY_ALL_USERS
    (0x5000_940E, Request::Special),       // BTRFS_IOC_SUBVOL_CREATE
    (0x5000_9401, Request::Special),       // BTRFS_IOC_SNAP_CREATE
    (0x5000_9417, Request::Special),       // BTRFS_IOC_SNAP_CREATE_V2
    (0x5000_9418, Request::Special),       // BTRFS_IOC_SUBVOL_CREATE_V2
    (0x5000_940F, Request::Special),       // BTRFS_IOC_SNAP_DESTROY
    (0x5000_943F, Request::Special),       // BTRFS_IOC_SNAP_DESTROY_V2
    (0x4020_BC10, Request::Special),       // BCH_IOCTL_SUBVOLUME_CREATE
    (0x4020_BC11, Request::Special),       // BCH_IOCTL_SUBVOLUME_DESTROY
    (0xC004_5877, Request::Forbidden),     // FIFREEZE
    (0x8004_587D, Request::Forbidden),     // FS_IOC_SHUTDOWN
    (0x5412, Request::Forbidden),          // TIOCSTI
    (0x541C, Request::Forbidden),          // TIOCLINUX
    (0x2285, Request::Forbidden),          // SG_IO
    (0xC048_4E41, Request::Forbidden),     // NVME_IOCTL_ADMIN_CMD
    (0xC048_4E43, Request::Forbidden),     // NVME_IOCTL_IO_CMD
    (0x4030_4E42, Request::Forbidden),     // NVME_IOCTL_SUBMIT_IO
    (0xC050_4E47, Request::Forbidden),     // NVME_IOCTL_ADMIN64_CMD
    (0xC050_4E48, Request::Forbidden),     // NVME_IOCTL_IO64_CMD
    (0xC050_4E49, Request::Forbidden),     // NVME_IOCTL_IO64_CMD_VEC
    (0xC048_B300, Request::Forbidden),     // MMC_IOC_CMD
    (0xC008_B301, Request::Forbidden),     // MMC_IOC_MULTI_CMD
    (0x031D, Request::Forbidden),          // HDIO_DRIVE_TASKFILE
    (0x031E, Request::Forbidden),          // HDIO_DRIVE_TASK
    (0x031F, Request::Forbidden),          // HDIO_DRIVE_CMD
    (0x5393, Request::Forbidden),          // CDROM_SEND_PACKET
];

/// The requests that write elsewhere than at the end through a descriptor that was opened to append (linux/falloc.h,
/// ext4.h, f2fs.h, xfs_fs.h): the filter stops them where a policy lets files do nothing but grow. The kernel itself keeps
/// FICLONE and its like from such descriptors.
pub const LOOSENING_REQUESTS: &[u32] = &[
    0x4030_5829, // FS_IOC_UNRESVSP
    0x402C_5829, // the same of 32-bit programs
    0x4030_582B, // FS_IOC_UNRESVSP64
    0x402C_582B,
    0x4030_5839, // FS_IOC_ZERO_RANGE
    0x402C_5839,
    0xC028_660F, // EXT4_IOC_MOVE_EXT
    0xC020_F509, // F2FS_IOC_MOVE_RANGE
    0x0000_F519, // F2FS_IOC_START_ATOMIC_REPLACE
    0xC0C0_586D, // XFS_IOC_SWAPEXT
    0x4028_5881, // XFS_IOC_EXCHANGE_RANGE
];

/// The request of this number; the kernel looks at the low 32 bits only.
#[must_use]
pub fn request(number: u64) -> Option<Request> {
    REQUESTS
        .iter()
        .find(|(known, _)| *known == number as u32)
        .map(|(_, request)| *request)
        .or_else(|| {
            LOOSENING_REQUESTS
                .contains(&(number as u32))
                .then_some(Request::Special)
        })
}
