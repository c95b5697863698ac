//! What pre-start scripts write in real pods: processes see it in writable packages and where the script runs inline;
//! what is lost is in the log.

use crate::world::World;
use anyhow::{Result, ensure};
use boson_tests::cluster::image::Image;
use boson_tests::root;

const IMAGE: &str = "boson.test/pre-start:busybox-1-1";
const POD: &str = "prepared-server-v1-0";

#[test]
fn processes_see_what_pre_start_scripts_write_where_their_jobs_ask_for_it() {
    let Some(env) = Environment::set().unwrap() else { return };
    env.ready().unwrap();
    for (job, said) in [
        ("package", "as 1000: setting of pre-start, prepared by none\n"),
        (
            "inline",
            "inline pre-start as 0\nas 1000: setting of pre-start, prepared by inline\n",
        ),
        ("loses", "as 1000: setting of pre-start, prepared by none\n"),
    ] {
        let log = format!("/var/vcap/sys/log/{job}");
        let cat = format!("cat {log}/pre-start.stdout.log {log}/{job}.stdout.log");
        env.world
            .until(&format!("'{said}'"), || Ok(env.inside(job, &cat)? == said))
            .unwrap();
    }
    what_is_lost_is_in_the_log(&env).unwrap();
    an_inline_script_runs_again_in_a_new_container(&env).unwrap();
}

fn what_is_lost_is_in_the_log(env: &Environment) -> Result<()> {
    let log = |container: &str| env.world.kubectl(&["logs", POD, "--container", container]);
    let lost = log("bosh-pre-start-loses")?;
    for line in [
        "do not see these (1):\n",
        "  /etc/prepared\n",
        "quarks.run.pre_start: inline\n",
    ] {
        ensure!(lost.contains(line), "{lost}");
    }
    let kept = log("bosh-pre-start-package")?;
    ensure!(kept.is_empty(), "{kept}");
    Ok(())
}

fn an_inline_script_runs_again_in_a_new_container(env: &Environment) -> Result<()> {
    let runs = |env: &Environment| env.inside("package", "cat /var/vcap/data/runs");
    ensure!(runs(env)? == "run\n", "{}", runs(env)?);
    env.inside("inline", "kill $(cat /var/vcap/sys/run/bpm/inline/inline.pid)")?;
    env.world
        .until("another run of the script", || Ok(runs(env)? == "run\nrun\n"))?;
    env.ready()?;
    env.world.until("the file that it writes", || {
        Ok(env
            .inside("inline", "cat /etc/prepared")
            .is_ok_and(|text| text == "inline\n"))
    })
}

/// A namespace with the release of `tests/fixtures/releases/pre-start`.
struct Environment {
    world: World,
}

// === impl Environment ===

impl Environment {
    fn set() -> Result<Option<Self>> {
        let Some(world) = World::on_node("pre-start")? else {
            return Ok(None);
        };
        let release = root().join("tests/fixtures/releases/pre-start");
        // A package is a link, as in the images of `host image`.
        let image = Image::release(IMAGE, &release)?
            .file("var/vcap/packages-src/tools/1/etc/setting", "the image\n")
            .link("var/vcap/packages/tools", "/var/vcap/packages-src/tools/1");
        world.cluster.load_image(&image)?;
        world.convert(&release.join("manifest.yml"), &release, &[], &[])?;
        Ok(Some(Self { world }))
    }

    fn ready(&self) -> Result<()> {
        self.world.until_is(&format!("pod/{POD}"), "Ready")
    }

    /// Runs a shell script in the container of a job's process.
    fn inside(&self, job: &str, script: &str) -> Result<String> {
        self.world.inside(POD, &format!("{job}-{job}"), script)
    }
}
