/** Whether machines can ask for their first certificates with the kubeconfig of their payload: it is tried as they would use it. */
import { coded, type Judgement, ok, skipped } from "../../../base/finding.js";
import { isoTime } from "../../../base/text.js";
import { ENDS_SOON_MS } from "../../../cluster/nodes/controller/bootstrap.js";
import type { BootstrapCredential, CredentialAnswer } from "../../../cluster/nodes/credential/credential.js";
import type { ApprovalPolicy } from "../../../cluster/nodes/csr/request-context.js";
import { isSameSet } from "../../../cluster/nodes/csr/rules.js";
import { defineCheck } from "../check.js";

export const bootstrapCredential = defineCheck({
  ...{ id: "bootstrap-credential", about: "The API server accepts the credential that machines join with" },
  needs: ["bootstrapCredential", "poolState"],
  judge({ bootstrapCredential: found, poolState: { context, now } }) {
    const { where } = found;
    if ("isPayloadMade" in found) {
      return found.isPayloadMade
        ? skipped(`there is no ${where}: the payload has its kubeconfig from elsewhere`)
        : coded("DB_NODE_CREDENTIAL", `there is no ${where}, so machines have nothing to join with`);
    }
    if ("problem" in found) return coded("DB_NODE_CREDENTIAL", found.problem.replace(/\.$/, ""), where);
    const { answer, credential, isRenewed } = found;
    const end = credential.life === undefined ? "without an end" : `until ${isoTime(credential.life.until)}`;
    const problems = [
      ...(answer === undefined ? [ended(credential)] : answerProblems(answer, credential, context.policy)),
      ...(answer === undefined ? [] : ending(credential, isRenewed, now)),
    ];
    if (problems.length === 0)
      return ok(`${credential.server} accepts the credential that machines join with`, where, end);
    return problems.map((problem) => ({ ...problem, evidence: [`${where}, ${end}`, ...problem.evidence] }));
  },
});

const REFUSED = "DB_NODE_CREDENTIAL_REFUSED" as const;

const ended = ({ life }: BootstrapCredential): Judgement =>
  coded(REFUSED, `the credential that machines join with ended on ${isoTime(life?.until ?? 0)}`);

function answerProblems(
  answer: CredentialAnswer,
  { server, user }: BootstrapCredential,
  policy: ApprovalPolicy,
): Judgement[] {
  switch (answer.outcome) {
    case "refused":
      return [coded(REFUSED, `${server} refuses the credential that machines join with`, answer.error.message)];
    case "server":
      return [
        coded(
          "DB_NODE_CREDENTIAL_SERVER",
          `machines do not accept ${server} as their API server`,
          answer.error.message,
        ),
      ];
    case "untried":
      return [
        {
          ...coded(
            "DB_NODE_UNCHECKED",
            `the credential that machines join with could not be tried from here`,
            answer.error.message,
          ),
          ...{
            state: "warning",
            remedy: `Ask again where ${server} is reached as machines reach it; they may reach it all the same.`,
          },
        },
      ];
    case "accepted": {
      const asked = answer.mayRequest
        ? []
        : [coded(REFUSED, "the credential that machines join with may not create certificatesigningrequests")];
      const identity = identityProblem(answer.identity, user, policy);
      return identity === undefined ? asked : [...asked, { ...coded(REFUSED, identity), remedy: IDENTITY_REMEDY }];
    }
  }
}

const IDENTITY_REMEDY =
  "Let the controller make the kubeconfig, or name its user and groups to the approver and here with --bootstrap-user and --bootstrap-group.";

/** As the approver's rule bootstrap-identity. */
function identityProblem(
  identity: Extract<CredentialAnswer, { outcome: "accepted" }>["identity"],
  claimed: string | undefined,
  { bootstrapGroups, bootstrapUser }: ApprovalPolicy,
): string | undefined {
  const username = identity?.username ?? claimed;
  if (username !== undefined && username !== bootstrapUser)
    return `machines join as ${username}, and the approver expects ${bootstrapUser}, so it approves none of them`;
  if (identity === undefined || isSameSet(identity.groups, bootstrapGroups)) return undefined;
  return `machines join with the groups ${identity.groups.join(", ")}, and the approver expects ${bootstrapGroups.join(", ")}, so it approves none of them`;
}

/** The controller renews its own at half of their life. */
function ending({ life }: BootstrapCredential, isRenewed: boolean, now: number): Judgement[] {
  if (life === undefined) return [];
  const limit = isRenewed ? (life.until - life.from) / 4 : ENDS_SOON_MS;
  if (life.until - now >= limit) return [];
  const who = isRenewed ? "its controller has not renewed it" : "nobody renews it, because a person made it";
  const message = `the credential that machines join with ends on ${isoTime(life.until)}, and ${who}`;
  return [{ ...coded("DB_NODE_CREDENTIAL_ENDING", message), state: "warning" }];
}
