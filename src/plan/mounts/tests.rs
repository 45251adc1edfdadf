//! Tests of [`super`].
#![forbid(unsafe_code)]

use super::*;

fn mounts(text: &str) -> Mounts {
    Mounts::parse(text.as_bytes()).unwrap()
}

fn only(line: &str) -> Mount {
    mounts(line).list.remove(0)
}

#[test]
fn fields_optional_fields_and_octal() {
    let mount = only(
        "36 35 98:7 /mnt1 /mnt\\0402\\134x rw,noatime master:1 shared:2 - ext3 /dev/root rw,errors=continue\n",
    );
    assert_eq!((mount.id, mount.parent, mount.device), (36, 35, (98, 7)));
    assert_eq!(
        (mount.root.as_path(), mount.point.as_path()),
        (Path::new("/mnt1"), Path::new("/mnt 2\\x"))
    );
    assert_eq!(mount.overlay, None);
    assert_eq!(
        only("1 1 0:3 net:[402] /run/ns rw - nsfs nsfs rw").root,
        Path::new("net:[402]")
    );
    assert_eq!(unescape(b"a\\04"), b"a\\04");
    assert_eq!(unescape(b"\\303\\244"), "\u{e4}".as_bytes());
}

#[test]
fn lines_that_are_not_understood() {
    for (line, text) in [
        (1, "x"),
        (1, "36 35 98 / / rw - ext3 x rw"),
        (1, "36 35 98:0 / / rw ext3 x rw"),
        (
            2,
            "36 35 98:0 / / rw - ext3 x rw\n36 a 98:0 / / rw - ext3 x rw",
        ),
        (1, "36 35 98:0 / here rw - ext3 x rw"),
    ] {
        let error = Mounts::parse(text.as_bytes()).unwrap_err();
        assert!(
            matches!(error, PlanError::MountLine { line: at } if at == line),
            "{text}: {error}"
        );
    }
}

#[test]
fn overlay_layers() {
    let layers = |options: &str| {
        only(&format!("1 0 0:9 / /m rw - overlay o {options}"))
            .overlay
            .unwrap()
    };
    let simple = layers("rw,lowerdir=/a:/b,upperdir=/u,workdir=/w,xino=off");
    assert_eq!(
        simple,
        Overlay {
            upper: vec!["/u".into()],
            lower: vec!["/a".into(), "/b".into()]
        }
    );
    assert_eq!(
        layers("rw,lowerdir=/a\\134:b:/c").lower,
        [Path::new("/a:b"), Path::new("/c")]
    );
    assert_eq!(
        layers("rw,upperdir=/u\\134:\\040v\\054w").upper,
        [Path::new("/u: v,w"), Path::new("/u\\: v,w")]
    );
    assert_eq!(
        layers("ro,lowerdir+=/a:b,lowerdir+=/c,datadir+=/d").lower,
        [Path::new("/a:b"), Path::new("/c"), Path::new("/d")]
    );
    assert_eq!(
        layers("ro,lowerdir=/a::/d").lower,
        [Path::new("/a"), Path::new("/d")]
    );
    assert_eq!(layers("ro"), Overlay::default());
}

const TREE: &str = "\
20 1 8:1 / / rw - ext4 a rw
21 20 8:2 / /home rw - ext4 b rw
22 21 0:5 / /home/u/tmp rw - tmpfs t rw
23 20 8:1 /srv/x /mnt rw - ext4 a rw
24 23 8:2 /u /mnt rw - ext4 b rw
25 20 0:6 / /home/u2 rw - tmpfs t rw
";

#[test]
fn the_mount_that_shows_a_path() {
    let mounts = mounts(TREE);
    let id = |path: &str| mounts.showing(Path::new(path)).unwrap().id;
    assert_eq!(id("/"), 20);
    assert_eq!(id("/homes"), 20);
    assert_eq!(id("/home/u/tm"), 21);
    assert_eq!(id("/home/u/tmp/x"), 22);
    assert_eq!(id("/mnt/a"), 24, "the one on top of the stack");
    let twice = "20 1 8:1 / / rw - ext4 a rw\n21 20 0:5 / /m rw - tmpfs a rw\n22 20 0:6 / /m rw - tmpfs b rw\n";
    let twice = self::mounts(twice);
    assert_eq!(
        twice.showing(Path::new("/m/x")).unwrap().id,
        22,
        "the last of equals"
    );
    assert_eq!(
        id("/home/u2"),
        21,
        "hidden by the later mount on /home: it sits on the root"
    );
}

#[test]
fn without_a_root_mount_nothing_is_claimed() {
    assert!(
        mounts("21 20 8:2 / /home rw - ext4 b rw")
            .showing(Path::new("/home/u"))
            .is_none()
    );
}

#[test]
fn paths_inside_and_outside() {
    let mounts = mounts(TREE);
    let mount = mounts.showing(Path::new("/mnt/a")).unwrap();
    assert_eq!(mount.inside(Path::new("/mnt/a")), Some("/u/a".into()));
    assert_eq!(mount.inside(Path::new("/mnt")), Some("/u".into()));
    assert_eq!(mount.outside(Path::new("/u/a")), Some("/mnt/a".into()));
    assert_eq!(mount.outside(Path::new("/u")), Some("/mnt".into()));
    assert_eq!(mount.outside(Path::new("/v")), None);
}
