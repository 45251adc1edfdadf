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

/// The request of this number; the kernel looks at the low 32 bits only.
#[must_use]
pub fn request(number: u64) -> Option<Request> {
    REQUESTS
        .iter()
        .find(|(known, _)| *known == number as u32)
        .map(|(_, request)| *request)
}
