import { serve } from "../runner/serve.js";
import { toyModel } from "./toy-model.js";

serve(toyModel);
