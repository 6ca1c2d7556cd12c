import { runScenario } from "../run.js";
import { scenarioOf } from "../scenario.js";
import { serve } from "./serve.js";

serve({ scenarioOf, runScenario });
