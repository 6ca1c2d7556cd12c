import { equipped } from "../support/lab/equipment.js";
import { programFlags } from "./bridge-on-host.js";
import { tellStory } from "./bridge-story.js";

tellStory({ title: "a bridge", ready: await equipped({ bridge: true }), programs: programFlags });
