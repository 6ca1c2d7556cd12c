/** The hosted cluster's proxy and the management cluster's, and where their passwords may stand. */
import type { HostedConfig, ProxyUrls } from "./config.js";
import type { Faults } from "./faults.js";
import type { Fields } from "./fields.js";
import { hasPassword, isDnsName, isProxyUrl } from "./names.js";

const ALLOWANCE = "allowProxyPasswordInArguments";

export function proxiesOf(fields: Fields, faults: Faults): Pick<HostedConfig, "proxy" | "managementProxy"> {
  const mayShow = fields.yesNo(ALLOWANCE) ?? false;
  const [customer, management] = [fields.group("proxy"), fields.group("managementProxy")];
  const urls = customer && urlsOf(customer, mayShow, faults);
  const trustedCa = customer?.text("trustedCA");
  if (trustedCa !== undefined && !isDnsName(trustedCa))
    faults.add(`proxy.trustedCA "${trustedCa}" is no ConfigMap's name`, "name one of the control plane's namespace");
  const managementProxy = management && urlsOf(management, mayShow, faults);
  customer?.refuseOthers();
  management?.refuseOthers();
  return { proxy: urls && { ...urls, trustedCa }, managementProxy };
}

function urlsOf(group: Fields, mayShow: boolean, faults: Faults): ProxyUrls {
  const [http = "", https = "", secret] = [group.text("http"), group.text("https"), group.text("secret")];
  for (const [name, url] of Object.entries({ http, https })) {
    // Its text may hold a password, so it is not repeated.
    if (url === "") continue;
    if (!isProxyUrl(url)) faults.add(`${group.path(name)} is no proxy's URL`, "write http://host:port");
    else if (hasPassword(url) && !mayShow)
      faults.add(
        `${group.path(name)} has a password, which everybody who sees pods would see`,
        `put the URLs into a Secret as httpProxy and httpsProxy and name it in ${group.path("secret")}, or say ${ALLOWANCE}: true`,
      );
  }
  if (secret !== undefined && !isDnsName(secret))
    faults.add(
      `${group.path("secret")} "${secret}" is no Secret's name`,
      "name one of the namespace that it is used in",
    );
  const isGiven = http !== "" || https !== "";
  if (isGiven && secret !== undefined)
    faults.add(`${group.where} has both URLs and a Secret with them`, "keep one of the two");
  if (!isGiven && secret === undefined)
    faults.add(`${group.where} has neither http nor https nor secret`, `give one, or leave ${group.where} out`);
  return { http, https, noProxy: group.texts("noProxy"), secret };
}
