//! What pre-start scripts write in real pods: processes see it in writable packages and where the script runs inline;
//! what is lost is in the log.

use crate::world::World;
use anyhow::{Result, ensure};
use boson_tests::cluster::image::Image;

const POD: &str = "prepared-server-v1-0";

#[test]
fn processes_see_what_pre_start_scripts_write_where_their_jobs_ask_for_it() {
    let Some(world) = World::on_node("pre-start").unwrap() else {
        return;
    };
    // A package is a link, as in the images of `host image`.
    let with_package = |image: Image| {
        let image = image.file("var/vcap/packages-src/tools/1/etc/setting", "the image\n");
        Ok(image.link("var/vcap/packages/tools", "/var/vcap/packages-src/tools/1"))
    };
    world.convert_release("pre-start", with_package, &[]).unwrap();
    wait_for_ready(&world).unwrap();
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
        world
            .wait_until(&format!("'{said}'"), || Ok(inside(&world, job, &cat)? == said))
            .unwrap();
    }
    what_is_lost_is_in_the_log(&world).unwrap();
    an_inline_script_runs_again_in_a_new_container(&world).unwrap();
}

fn what_is_lost_is_in_the_log(world: &World) -> Result<()> {
    let log = |container: &str| world.kubectl(&["logs", POD, "--container", container]);
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

fn an_inline_script_runs_again_in_a_new_container(world: &World) -> Result<()> {
    let runs = || inside(world, "package", "cat /var/vcap/data/runs");
    ensure!(runs()? == "run\n", "{}", runs()?);
    inside(world, "inline", "kill $(cat /var/vcap/sys/run/bpm/inline/inline.pid)")?;
    world.wait_until("another run of the script", || Ok(runs()? == "run\nrun\n"))?;
    wait_for_ready(world)?;
    world.wait_until("the file that it writes", || {
        Ok(inside(world, "inline", "cat /etc/prepared").is_ok_and(|text| text == "inline\n"))
    })
}

fn wait_for_ready(world: &World) -> Result<()> {
    world.wait_for_condition(&format!("pod/{POD}"), "Ready")
}

/// Runs a shell script in the container of a job's process.
fn inside(world: &World, job: &str, script: &str) -> Result<String> {
    world.inside(POD, &format!("{job}-{job}"), script)
}
