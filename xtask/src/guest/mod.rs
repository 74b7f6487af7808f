//! Virtual machines under software emulation: a Debian kernel, a file system in memory, a script, and a
//! folder of results. Owns starting and ending them; the caller owns what runs inside. Needs no
//! virtualization support on this machine.

pub mod harvest;
pub mod images;

pub mod tree;
pub mod workload;

use anyhow::{Context, Result, ensure};
use images::Images;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use tree::Tree;

/// Packages that guests need in addition to the kernels.
pub const PACKAGES: [&str; 3] = ["qemu-system-x86", "busybox-static", "cpio"];

/// Runs before every script: results stay in /results until they are sent.
const BEFORE: &str = "#!/bin/busybox sh
/bin/busybox --install -s /bin
mount -t proc proc /proc; mount -t sysfs sys /sys; mount -t devtmpfs dev /dev
mount -t tracefs trace /sys/kernel/tracing; mount -t cgroup2 group /sys/fs/cgroup
ip link set lo up
mkdir -p /results; cd /results
";

/// Runs after every script. The second serial line is a file on the host.
const AFTER: &str = "
cd /results; stty -F /dev/ttyS1 raw
tar cz . > /dev/ttyS1; sync; poweroff -f
";

/// Most attempts to boot a guest that does not end.
const BOOTS_MAX: usize = 3;

/// One virtual machine.
#[derive(Clone, Debug)]
pub struct Guest<'a> {
    /// The emulated processor: qemu's `-cpu`, `-smp`, `-numa`.
    pub processor: &'a [&'a str],
    /// Memory of the guest, MiB.
    pub memory_mib: u32,
    /// Runs a hypervisor between the emulated machine and the kernel: the number of CPUs of the virtual
    /// machine in which the script runs.
    pub virtual_cpus: Option<usize>,
    /// Lines of a POSIX shell (busybox), run as root in `/results`.
    pub script: &'a str,
    /// Time after which the guest is killed.
    pub limit: Duration,
}

impl Guest<'_> {
    /// Boots the guest with `tree` as its files; returns the folder with what the script left in `/results`.
    /// All of it is in `scratch`, which is emptied first.
    pub fn run(&self, images: &Images, tree: &Tree, scratch: &Path) -> Result<PathBuf> {
        if scratch.exists() {
            fs::remove_dir_all(scratch)?;
        }
        let results = scratch.join("results");
        fs::create_dir_all(&results)?;
        let files = scratch.join("files.cpio.gz");
        tree.pack(&format!("{BEFORE}{}{AFTER}", self.script), &files)?;
        let (console, sent) = (scratch.join("console"), scratch.join("sent"));
        // With two emulated processors, a timer is sometimes lost, and the guest hangs.
        let ended = (0..BOOTS_MAX)
            .map(|_| self.emulate(images, &files, &console, &sent))
            .find(|ended| !matches!(ended, Ok(false)));
        let end_of_console = || tail(&console, 15);
        ensure!(
            ended.transpose()?.is_some(),
            "the guest did not end within {} s; it said:\n{}",
            self.limit.as_secs(),
            end_of_console()
        );
        let unpacked = Command::new("tar").arg("xzf").arg(&sent).arg("-C").arg(&results).output()?;
        ensure!(unpacked.status.success(), "the guest sent no results; it said:\n{}", end_of_console());
        Ok(results)
    }

    /// Returns whether the guest ended by itself.
    fn emulate(&self, images: &Images, files: &Path, console: &Path, sent: &Path) -> Result<bool> {
        // It dies with this process, however that ends.
        let mut command = Command::new("setpriv");
        command.args(["--pdeathsig", "KILL", "qemu-system-x86_64", "-accel", "tcg,thread=multi", "-no-reboot"]);
        command.args(["-display", "none", "-nodefaults", "-m", &self.memory_mib.to_string()]).args(self.processor);
        command.arg("-serial").arg(to_file(console)).arg("-serial").arg(to_file(sent));
        match self.virtual_cpus {
            None => command
                .arg("-kernel")
                .arg(&images.kernel)
                .arg("-initrd")
                .arg(files)
                .args(["-append", "console=ttyS0 quiet panic=-1"]),
            Some(cpus) => {
                let hypervisor = images.hypervisor.as_ref().context("no hypervisor was asked for")?;
                let domain = self.memory_mib.saturating_sub(300);
                let modules = format!("{} console=hvc0 quiet panic=-1,{}", images.kernel.display(), files.display());
                // Pinned: with as many CPUs as virtual CPUs, none waits for another.
                let options = format!(
                    "console=com1 com1=115200,8n1 noreboot=1 dom0_max_vcpus={cpus} dom0_vcpus_pin dom0_mem={domain}M,max:{domain}M"
                );
                command.arg("-kernel").arg(hypervisor).args(["-append", &options, "-initrd", &modules])
            }
        };
        let log = File::create(console.with_extension("emulator"))?;
        command.stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log);
        let mut emulator = command.spawn().context("setpriv (package util-linux) cannot be run")?;
        let until = Instant::now() + self.limit;
        while Instant::now() < until {
            if let Some(status) = emulator.try_wait()? {
                let end_of_log = || tail(&console.with_extension("emulator"), 5);
                ensure!(status.success(), "the emulator ended with {status}: {}", end_of_log());
                return Ok(true);
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        emulator.kill()?;
        emulator.wait()?;
        Ok(false)
    }
}

fn to_file(path: &Path) -> String {
    format!("file:{}", path.display())
}

/// The last lines of a console log.
fn tail(path: &Path, lines: usize) -> String {
    let text = String::from_utf8_lossy(&fs::read(path).unwrap_or_default()).into_owned();
    let lines: Vec<&str> = text.lines().rev().take(lines).collect();
    lines.into_iter().rev().collect::<Vec<_>>().join("\n")
}
