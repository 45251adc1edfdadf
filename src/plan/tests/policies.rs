//! The shipped policies, against a made-up home.

use std::collections::BTreeSet;

use super::*;
use crate::plan::expand::{Expansion, expand};
use crate::policy::discover::load;
use crate::policy::{Firmness, Part, Pattern, Rule, Template, shipped};

impl World {
    /// A plan for a shipped policy.
    fn shipped(&self, name: &str) -> Plan {
        Plan::resolve(&load(name).unwrap(), None, &self.host()).unwrap()
    }

    /// A repository in the home directory, as the working directory.
    fn repository(&mut self) -> PathBuf {
        self.file("~/proj/.git/HEAD", "ref: refs/heads/main\n");
        self.cwd = self.dir("~/proj/src");
        self.path("~/proj")
    }

    /// Asks for the level of each path; a level and its paths are one line.
    fn expect(&self, plan: &Plan, table: &str) {
        for line in table.lines().map(str::trim).filter(|line| !line.is_empty()) {
            let (level, paths) = line.split_once(": ").unwrap();
            for path in paths.split(", ") {
                let at = match path.strip_prefix('/') {
                    Some(_) => PathBuf::from(path),
                    None => self.path(path),
                };
                assert_eq!(plan.level(&at).name(), level, "{path}: {}", plan.shown(&at));
            }
        }
        assert!(plan.notices.is_empty(), "{:?}", plan.notices);
    }
}

/// The policies of agents: those that `agents` includes.
fn agents() -> BTreeSet<String> {
    let rules = load("agents").unwrap().rules.into_iter();
    rules.map(|rule| rule.policy.into_owned()).collect()
}

#[test]
fn every_rule_of_every_agent_says_why_and_how_it_is_known() {
    assert_eq!(agents().len(), 18);
    for rule in load("agents").unwrap().rules {
        let said = |text: &Option<Text>| text.as_ref().is_some_and(|text| text.len() > 4);
        let place = format!("{} ({})", rule.text, rule.origin);
        assert!(said(&rule.why) && said(&rule.source), "{place}");
    }
    let named = load("pi").unwrap().rules.into_iter();
    let sources: BTreeSet<_> = named.map(|rule| rule.source).collect();
    assert!(sources.len() > 1, "a rule's own source counts: {sources:?}");
}

#[test]
fn what_agents_keep_in_the_workspace_counts_where_it_is() {
    let mut world = World::new();
    world.repository();
    let none = world.shipped("default");
    let holds = |plan: &Plan| {
        let wanted = |rule: &&PlannedRule| {
            rule.effect == Effect::Holds && rule.shown.starts_with("~/proj/.")
        };
        plan.rules.iter().filter(wanted).count()
    };
    assert_eq!(holds(&none), 0, "the wall grants the workspace as a whole");
    world.file("~/proj/.aider.chat.history.md", "");
    world.file("~/proj/.crush/crush.db", "");
    let some = world.shipped("default");
    let table = "
        add-only: ~/proj/.aider.chat.history.md, ~/proj/.crush/crush.db
        writable: ~/proj, ~/proj/x, ~/proj/.crush, ~/proj/.crush/logs/x, ~/proj/.aider.input.history, ~/proj/.crush/crush.db-wal
    ";
    world.expect(&some, table);
    assert_eq!(holds(&some), 2);
    assert!(some.keeps(&world.path("~/proj/.crush")));
    // In a home that loses nothing they count before they are there, and so do they behind what cannot be looked at.
    let policy = "'~' = 'no-delete'\n'${workspace}' = 'no-delete'\n'${workspace}/x' = 'add-only'";
    assert_eq!(
        world.plan(policy).level(&world.path("~/proj/x")),
        Level::AddOnly
    );
}

/// What `default` says of a home with a repository in ~/proj.
const DEFAULT: &str = "
no-delete: ~, ~/notes, ~/Documents/a/b, ~/.gitconfig, ~/.config, ~/.config/foo/bar, ~/.local, ~/.local/bin/x, ~/.local/share
no-delete: ~/.profile, ~/.bashrc, ~/.bash_profile, ~/.zshrc, ~/.zshenv, ~/.config/fish/config.fish, ~/.inputrc, ~/.bash_history
no-delete: ~/.claude.json.backup, ~/.cargo, ~/.cargo/bin/x, ~/.cargo/.package-cache, ~/.cargo/config.toml, ~/.gradle, ~/.gradle/init.d/x
no-delete: ~/.m2, ~/.nvm/versions/x, ~/.local/share/virtualenvs/x, ~/.local/share/uv/tools/x, ~/.local/share/pipx/venvs/x, ~/go/bin/x
no-delete: ~/go/src/x, ~/.config/yarn/global/x, ~/.bun/bin/bun, ~/.ollama/models/x, ~/.julia/environments/x, ~/.julia/dev/x, ~/miniconda3/envs/x
no-delete: ~/.sbt/1.0/plugins/x.sbt, ~/.android/debug.keystore, ~/.mix, ~/.docker, ~/.docker/contexts/x, ~/.bundle, ~/.azure/msal_token_cache.json
no-delete: ~/.ssh/known_hosts, ~/.gnupg/random_seed, ~/.gnupg/trustdb.gpg, ~/.local/share/Trash/x, ~/.pi, ~/.local/share/containers/storage/x
writable: ~/proj, ~/proj/x, ~/proj/.git/index, ~/proj/node_modules/x, /tmp, /tmp/x, /var/tmp/x, /opt/x, w/x, /dev/null
writable: ~/.cache, ~/.cache/x, ~/.cache/huggingface/hub/x, ~/.npm, ~/.npm/_cacache/x, ~/.npm/_npx/x, ~/.local/share/pnpm/store/v10/x
writable: ~/.yarn/berry/cache/x, ~/.bun/install/cache/x, ~/.cargo/registry/x, ~/.cargo/git/x, ~/.rustup, ~/.rustup/toolchains/x
writable: ~/go/pkg, ~/go/pkg/mod/cache/x, ~/.m2/repository/x, ~/.m2/wrapper/x, ~/.gradle/caches/x, ~/.gradle/daemon/x, ~/.gradle/wrapper/x
writable: ~/.ivy2/cache/x, ~/.ivy2/local/x, ~/.sbt/boot/x, ~/.gem/ruby/x, ~/.local/share/gem/ruby/x, ~/.bundle/cache/x, ~/.nuget/packages/x
writable: ~/.local/share/NuGet/http-cache/x, ~/.hex/packages/x, ~/.cabal/packages/x, ~/.cabal/store/x, ~/.stack/pantry/x, ~/.stack/snapshots/x
writable: ~/.opam/x, ~/.ccache/x, ~/.conda/pkgs/x, ~/miniconda3/pkgs/x, ~/.composer/cache/x, ~/.conan2/p/x, ~/.julia/packages/x, ~/.cpanm/x
writable: ~/.pub-cache/hosted/x, ~/.terraform.d/plugin-cache/x, ~/.kube/cache/x, ~/.aws/cli/cache/x, ~/.aws/sso/cache/x, ~/.docker/buildx/x
writable: ~/.ssh/known_hosts.old, ~/.ssh/known_hosts.AbCdEfGhIj, ~/.ssh/cm-user@host, ~/.ssh/controlmasters/x, ~/.ssh/sockets/x, ~/.ssh/agent/s.x
writable: ~/.gnupg/pubring.kbx.lock, ~/.gnupg/.#lk0x1.h.1, ~/.gnupg/S.gpg-agent, ~/.gnupg/S.gpg-agent.ssh, ~/.config/chromium/Crash Reports/x
read-only: ~/.ssh, ~/.ssh/id_ed25519, ~/.ssh/config, ~/.ssh/authorized_keys, ~/.gnupg/private-keys-v1.d/x.key
read-only: ~/.aws, ~/.aws/credentials, ~/.aws/cli, ~/.kube, ~/.kube/config, ~/.docker/config.json, ~/.netrc, ~/.npmrc, ~/.pypirc
read-only: ~/.git-credentials, ~/.config/gh/hosts.yml, ~/.config/gcloud/credentials.db, ~/.cargo/credentials.toml, ~/.gem/credentials
read-only: ~/.m2/settings.xml, ~/.gradle/gradle.properties, ~/.password-store/x.gpg, ~/.local/share/keyrings/login.keyring, ~/.pgpass
read-only: ~/.config/chromium/Default/Cookies, ~/.config/chromium/Profile 1/Login Data, ~/.config/google-chrome/Default/x
read-only: ~/.mozilla/firefox/abcd.default-release/logins.json, ~/.thunderbird/x, ~/.terraform.d/credentials.tfrc.json, ~/.ollama/id_ed25519
read-only: ~/.pi/agent, ~/.pi/agent/auth.json, ~/.pi/agent/settings.json, ~/.claude, ~/.claude/settings.json, ~/.claude/.credentials.json
read-only: ~/.claude.json, ~/.codex, ~/.codex/auth.json, ~/.codex/state_5.sqlite, ~/.local/share/opencode/opencode.db, ~/.local/share/opencode
read-only: ~/.config/opencode/x, ~/.local/state/opencode/x, ~/.omp, ~/.omp/agent/agent.db, ~/.local/share/omp/x, ~/.config/guard/policy.toml
add-only: ~/.pi/agent/sessions, ~/.pi/agent/sessions/--w--/x.jsonl, ~/.pi/agent/trust.json.lock, ~/.claude/projects/-w/x.jsonl
add-only: ~/.claude/history.jsonl.lock, ~/.claude.json.lock, ~/.codex/sessions/2026/x, ~/.codex/archived_sessions/x, ~/.codex/thread-writer-locks/x
add-only: ~/.codex/state_5.sqlite-wal, ~/.codex/state_5.sqlite-shm, ~/.local/share/opencode/opencode.db-wal, ~/.local/share/opencode/storage/x
add-only: ~/.local/share/opencode/opencode.db-shm, ~/.local/state/opencode/locks/x.lock, ~/.omp/agent/sessions/x, ~/.omp/profiles/p/agent/sessions/x
add-only: ~/.omp/agent/agent.db-wal, ~/.omp/profiles/p/agent/agent.db-shm, ~/.gnupg, ~/.gnupg/pubring.kbx
read-only: ~/.gemini/oauth_creds.json, ~/.qwen/settings.json, ~/.copilot/config.json, ~/.cline/data/settings/providers.json, ~/.hermes/state.db
read-only: ~/.factory/auth.v2.key, ~/.aider/oauth-keys.env, ~/.local/share/crush/crush.json, ~/.config/goose/secrets.yaml, ~/.cursor/mcp.json
read-only: ~/.local/share/amp/secrets.json, ~/.qoder/.auth/x, ~/.config/rivumi/x
writable: ~/proj/.aider.chat.history.md, ~/proj/.crush, ~/proj/.crush/crush.db, ~/proj/.env, ~/.cline/worktrees/x, ~/.codex/worktrees/x
add-only: ~/.config/chromium/Local State, ~/.mozilla/firefox/profiles.ini
";

#[test]
fn the_default() {
    let mut world = World::new();
    world.repository();
    let plan = world.shipped("default");
    world.expect(&plan, DEFAULT);
    assert_eq!(
        plan.default,
        Level::Writable,
        "outside home all is as it was"
    );
    let ci = world.shipped("ci");
    world.expect(&ci, DEFAULT);
    assert_eq!(
        (plan.on_attempt, ci.on_attempt),
        (OnAttempt::Report, OnAttempt::Fail)
    );
    // Where the programs' files are there already, nothing else holds.
    for path in [
        "~/.ssh",
        "~/.gnupg",
        "~/.cargo/registry",
        "~/.cache/x",
        "~/.pi/agent/sessions",
        "~/.config/chromium",
    ] {
        world.dir(path);
    }
    world.expect(&world.shipped("default"), DEFAULT);
}

#[test]
fn test_closes_version_control_and_sessions() {
    let mut world = World::new();
    world.repository();
    let plan = world.shipped("test");
    let closed = "
        read-only: ~/proj/.git, ~/proj/.git/index, ~/.pi/agent/sessions/x, ~/.claude/projects/x, ~/.codex/sessions/x, ~/.codex/archived_sessions/x
        read-only: ~/.local/share/opencode/storage/x, ~/.omp/agent/sessions/x, ~/.omp/profiles/p/agent/sessions/x, ~/.ssh/id_ed25519
        writable: ~/proj, ~/proj/x, ~/proj/.gitignore, ~/.cache/x, ~/.npm/x, /tmp/x
        no-delete: ~, ~/x, ~/.bashrc, ~/.ssh/known_hosts
        add-only: ~/.pi/agent/trust.json.lock, ~/.codex/state_5.sqlite-shm, ~/.local/share/opencode/opencode.db-shm
    ";
    world.expect(&plan, closed);
    world.cwd = world.path("w");
    let none = world.shipped("test");
    assert!(none.notices.is_empty(), "{:?}", none.notices);
    let nothing = Effect::Nothing("the workspace has no version-control folder".to_owned());
    assert!(none.rules.iter().any(|rule| rule.effect == nothing));
}

#[test]
fn agents_leaves_home_alone() {
    let mut world = World::new();
    world.repository();
    let table = "
        writable: ~, ~/x, ~/.ssh/id_ed25519, ~/.bashrc, ~/proj/x, ~/.pi, w/x
        read-only: ~/.pi/agent, ~/.claude/settings.json, ~/.claude.json, ~/.codex/auth.json, ~/.omp/x, ~/.local/share/opencode/auth.json
        add-only: ~/.pi/agent/sessions/x, ~/.claude/projects/x, ~/.codex/sessions/x
    ";
    world.expect(&world.shipped("agents"), table);
}

#[test]
fn strict_opens_the_workspace_temporary_folders_and_caches_only() {
    let mut world = World::new();
    world.repository();
    let plan = world.shipped("strict");
    let table = "
        writable: ~/proj/x, ~/proj/.git/index, /tmp/x, /var/tmp/x, ~/.cache/x, ~/.npm/x, ~/.cargo/registry/x, ~/.gradle/caches/x, /dev/null
        read-only: ~, ~/x, ~/.bashrc, ~/.ssh/known_hosts, ~/.ssh/known_hosts.old, ~/.gnupg/x.lock, ~/.gnupg, ~/.cargo/bin/x, /etc/passwd, /opt/x
        read-only: ~/.pi/agent/sessions/x, ~/.pi/agent/x.lock, ~/.claude/projects/x, ~/.codex/sessions/x, ~/.config/x, ~/.local/share/x, /
    ";
    world.expect(&plan, table);
    let opened = |rule: &&PlannedRule| {
        rule.level != Level::ReadOnly && !["caches", "strict", "built in"].contains(&&*rule.policy)
    };
    assert!(!plan.rules.iter().any(|rule| opened(&rule)));
    // Whatever the default closes, no workspace there opens.
    let named = world.shipped("default");
    for root in agents() {
        for place in &named.places {
            let rule = named.rule(place.rule);
            if rule.policy == root
                && rule.level == Level::ReadOnly
                && rule.firmness != Firmness::Firm
            {
                let plan = Plan::resolve(
                    &load("strict").unwrap(),
                    None,
                    &Host {
                        cwd: place.path.join("sub"),
                        ..world.host()
                    },
                );
                let level = plan.unwrap().level(&place.path.join("sub/x"));
                assert_eq!(level, Level::ReadOnly, "{}", rule.shown);
            }
        }
    }
}

/// Variables that name the place that holds without them, as login scripts set them.
const USUAL: [(&str, &str); 43] = [
    ("XDG_CACHE_HOME", "~/.cache"),
    ("XDG_CONFIG_HOME", "~/.config"),
    ("XDG_DATA_HOME", "~/.local/share"),
    ("XDG_STATE_HOME", "~/.local/state"),
    ("TMPDIR", "/tmp"),
    ("CARGO_HOME", "~/.cargo"),
    ("RUSTUP_HOME", "~/.rustup"),
    ("GOPATH", "~/go"),
    ("GOMODCACHE", "~/go/pkg/mod"),
    ("GOCACHE", "~/.cache/go-build"),
    ("PNPM_HOME", "~/.local/share/pnpm"),
    ("BUN_INSTALL", "~/.bun"),
    ("VOLTA_HOME", "~/.volta"),
    ("NVM_DIR", "~/.nvm"),
    ("GRADLE_USER_HOME", "~/.gradle"),
    ("HF_HOME", "~/.cache/huggingface"),
    ("GNUPGHOME", "~/.gnupg"),
    ("DOCKER_CONFIG", "~/.docker"),
    ("BUILDX_CONFIG", "~/.docker/buildx"),
    ("KUBECACHEDIR", "~/.kube/cache"),
    ("PASSWORD_STORE_DIR", "~/.password-store"),
    ("CLAUDE_CONFIG_DIR", "~/.claude"),
    ("CODEX_HOME", "~/.codex"),
    ("PI_CODING_AGENT_DIR", "~/.pi/agent"),
    ("PI_CODING_AGENT_SESSION_DIR", "~/.pi/agent/sessions"),
    ("PI_CONFIG_DIR", ".omp"),
    ("CODEX_SQLITE_HOME", "~/.codex"),
    ("GEMINI_CLI_HOME", "~"),
    ("QWEN_HOME", "~/.qwen"),
    ("QWEN_RUNTIME_DIR", "~/.qwen"),
    ("QWEN_CODE_PROJECT_DIR", "~/.qwen/projects/-proj"),
    ("COPILOT_HOME", "~/.copilot"),
    ("COPILOT_CACHE_HOME", "~/.cache/copilot"),
    ("CLINE_DIR", "~/.cline"),
    ("CLINE_DATA_DIR", "~/.cline/data"),
    ("CLINE_DB_DATA_DIR", "~/.cline/data/db"),
    ("CLINE_SESSION_DATA_DIR", "~/.cline/data/sessions"),
    ("HERMES_HOME", "~/.hermes"),
    ("FACTORY_HOME_OVERRIDE", "~"),
    ("CRUSH_GLOBAL_CONFIG", "~/.config/crush"),
    ("CRUSH_GLOBAL_DATA", "~/.local/share/crush"),
    ("CURSOR_CONFIG_DIR", "~/.config/cursor"),
    ("QODER_CLI_HOME", "~"),
];

#[test]
fn no_policy_says_anything_without_a_reason() {
    let mut world = World::new();
    world.repository();
    let quiet = |world: &World, policy: &str| {
        let plan = world.shipped(policy);
        assert!(plan.notices.is_empty(), "{policy}: {:?}", plan.notices);
        let ignored = |rule: &PlannedRule| matches!(rule.effect, Effect::Ignored(_));
        assert!(!plan.rules.iter().any(ignored), "{policy}");
    };
    for policy in shipped::names() {
        quiet(&world, policy);
    }
    for (name, value) in USUAL {
        let value = match value.starts_with('~') {
            true => world.path(value).into_os_string(),
            false => value.into(),
        };
        world.set(name, value);
        quiet(&world, "test");
    }
    for policy in shipped::names() {
        quiet(&world, policy);
    }
    let usual = world.shipped("default");
    world.expect(&usual, DEFAULT);
    // As people with a repository of dotfiles have it.
    for path in [".config", ".ssh", ".claude", ".pi"] {
        world.dir(&format!("~/dots/{path}"));
        world.link(format!("dots/{path}"), &format!("~/{path}"));
    }
    world.file("~/dots/bashrc", "");
    world.link("dots/bashrc", "~/.bashrc");
    world.file("~/dots/.git/HEAD", "ref: refs/heads/main\n");
    for cwd in ["~/proj", "~/dots"] {
        world.cwd = world.path(cwd);
        for policy in shipped::names() {
            // What is not there through a link is not opened, and not worth a word; where a whole agent would go without it
            // is.
            let plan = world.shipped(policy);
            let whole = policy.starts_with("agent-");
            let told = |text: &String| whole && text.contains("a symbolic link leads to ~/dots/");
            assert!(
                plan.notices.iter().all(told),
                "{policy}: {:?}",
                plan.notices
            );
        }
    }
    let table = "
        writable: ~/dots/x, ~/dots/.ssh/known_hosts.old
        no-delete: ~/dots/bashrc, ~/dots/.ssh/known_hosts
        read-only: ~/dots/.ssh/id, ~/dots/.claude/settings.json, ~/dots/.pi/agent/auth.json
        add-only: ~/dots/.claude/projects/x, ~/dots/.pi/agent/sessions/x, ~/dots/.pi/agent/x.lock
    ";
    world.expect(&world.shipped("default"), table);
}

/// The variables of a template, those in defaults included.
fn variables(template: &Template) -> Vec<String> {
    let of = |part: &Part| match part {
        Part::Env { name, default } => {
            let mut names = vec![name.clone().into_owned()];
            names.extend(default.iter().flat_map(variables));
            names
        }
        _ => Vec::new(),
    };
    template.0.iter().flat_map(of).collect()
}

#[test]
fn every_variable_of_every_rule_moves_its_level() {
    let policy = load("default").unwrap();
    let mut world = World::new();
    world.repository();
    let rules = policy.rules.iter().filter_map(|rule| {
        let (Pattern::Path(template) | Pattern::Glob { base: template, .. }) = &rule.pattern;
        let name = variables(template).pop()?;
        Some((rule, template, name))
    });
    // One that is a name, not a path, has its turn afterwards.
    let (names, paths): (Vec<_>, Vec<_>) =
        rules.partition(|(rule, ..)| rule.text.starts_with("~/"));
    assert!(names.len() >= 3 && paths.len() > 400, "{}", paths.len());
    for (_, _, name) in &paths {
        world.set(name, world.path(&format!("~/moved/{name}")));
    }
    let check = |world: &World,
                 plan: &Plan,
                 (rule, template, name): &(&Rule, &Template, String)| {
        let Expansion::Paths(found, _) = expand(template, &world.path("~"), &world.host()) else {
            panic!("{} is nowhere", rule.text)
        };
        let below = match &rule.pattern {
            Pattern::Path(_) => "x",
            Pattern::Glob { tail, .. } => sample(tail),
        };
        let there = found[0].join(below);
        assert!(
            there.to_string_lossy().contains(name.as_str()),
            "{}",
            rule.text
        );
        assert_eq!(
            plan.level(&there),
            rule.level,
            "{}: {:?}",
            rule.text,
            plan.notices
        );
    };
    let plan = world.shipped("default");
    for asked in &paths {
        check(&world, &plan, asked);
    }
    // A default place that its variable has left is no cache any more; what is protected there stays so.
    let left = "
        no-delete: ~/.npm/x, ~/.cargo/registry/x, ~/.gradle/caches/x, ~/go/pkg/x, ~/.rustup/x, ~/.yarn/berry/x
        writable: ~/.cache/x, ~/.m2/repository/x, ~/moved/XDG_CACHE_HOME/x, ~/moved/CARGO_HOME/registry/x, ~/proj/x
        read-only: ~/.docker/config.json, ~/.config/gh/hosts.yml, ~/.password-store/x, ~/.codex/auth.json, ~/.cargo/credentials.toml
        add-only: ~/.gnupg/pubring.kbx, ~/.codex/sessions/x
    ";
    world.expect(&plan, left);
    for (_, _, name) in &names {
        world.set(name, format!("moved-{name}"));
    }
    let plan = world.shipped("default");
    for asked in &names {
        check(&world, &plan, asked);
    }
    assert!(plan.notices.is_empty(), "{:?}", plan.notices);
}

/// Something that a shipped glob matches, and something below it.
fn sample(tail: &str) -> &'static str {
    match tail {
        "*.lock" | "{*.lock,.#lk*,S.*}" => "x.lock/x",
        "*.{lock,pending}" => "x.pending/x",
        "projects.json.*" => "projects.json.1.tmp",
        "background-*.json" => "background-1.json",
        "hub-*" => "hub-1",
        "*/sessions" => "p/sessions/x",
        "*/state.db-{wal,shm,journal}" => "p/state.db-wal",
        "*/agent/{sessions,blobs,terminal-sessions}" => "p/agent/blobs/x",
        "**/{sessions,blobs,terminal-sessions}" => "p/sessions/x",
        "*.sqlite-{wal,shm,journal}" => "x.sqlite-wal",
        "*.db-{wal,shm,journal}" | "**/*.db-{wal,shm,journal}" => "x.db-shm",
        "**/*.{lock,db-wal,db-shm,db-journal}" => "a/x.lock",
        "Profile *" => "Profile 1/x",
        "*.default*" => "a.default-release/x",
        other => panic!("no sample for {other}"),
    }
}
