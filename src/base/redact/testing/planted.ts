/**
 * Secrets in every form they are known to take. Each is drawn again when a test runs and stands in no file of the
 * repository; whatever looks like a credential of a real service is put together from parts.
 */
import { generateKeyPairSync, randomBytes, randomInt } from "node:crypto";
import { gunzipSync as gunzip, gzipSync } from "node:zlib";

export interface Planted {
  readonly name: string;
  /** Where it would lie; a log unless it says otherwise. */
  readonly file: string;
  readonly content: Buffer;
  /** None of these may get out, in any spelling. */
  readonly secrets: readonly string[];
}

const draw = (alphabet: string, length: number): string =>
  Array.from({ length }, () => alphabet[randomInt(alphabet.length)]).join("");
const small = "abcdefghijklmnopqrstuvwxyz";
const digits = "0123456789";
const any = `${small}${small.toUpperCase()}${digits}`;

/** What a person thinks of: nothing about it looks random. */
const phrase = (): string => `quiet.${draw(small, 6)}.lantern`;
const random = (length: number): string => `${draw(any, length - 3)}aB7`;
const b64 = (text: string | Buffer): string => Buffer.from(text).toString("base64");
const hex = (length: number): string => draw("0123456789abcdef", length);
const everyPercent = (text: string): string =>
  [...Buffer.from(text)].map((byte) => `%${byte.toString(16).padStart(2, "0")}`).join("");

const keys = {
  rsa: () =>
    pem(generateKeyPairSync("rsa", { modulusLength: 1024 }).privateKey.export({ type: "pkcs1", format: "pem" })),
  ec: () => pem(generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey.export({ type: "sec1", format: "pem" })),
  ed: () => pem(generateKeyPairSync("ed25519").privateKey.export({ type: "pkcs8", format: "pem" })),
  sealed: () =>
    pem(
      generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey.export({
        type: "pkcs8",
        format: "pem",
        cipher: "aes-256-cbc",
        passphrase: "x",
      }),
    ),
};
const pem = (text: string | Buffer): string => String(text);
/** The lines of a key, each of which would be a part of it that got out. */
const bodyOf = (text: string): string[] =>
  text.split("\n").filter((line) => line.length >= 16 && !line.includes("-----"));

const begin = (label: string): string => `-----${"BEGIN"} ${label}-----`;
const end = (label: string): string => `-----${"END"} ${label}-----`;
const armoured = (label: string, body: readonly string[]): string => [begin(label), ...body, end(label), ""].join("\n");
const bodyLines = (count: number): string[] => Array.from({ length: count }, () => random(64));

export const kubeconfigWith = (token: string, key: string): string => `apiVersion: v1
kind: Config
clusters:
- name: c
  cluster:
    server: https://api.example:6443
    certificate-authority-data: ${b64("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n")}
users:
- name: admin
  user:
    token: ${token}
    client-key-data: ${b64(key)}
current-context: x
`;

export const ignitionWith = (source: string, compression?: string): string =>
  JSON.stringify({
    ignition: { version: "3.2.0" },
    storage: {
      files: [{ path: "/etc/kubernetes/x", contents: { source, ...(compression ? { compression } : {}) }, mode: 384 }],
    },
  });

type Form = readonly [name: string, secret: () => string, text: (secret: string) => string | Buffer, file?: string];

/** A name and a value, one secret each. */
const forms: readonly Form[] = [
  // YAML
  ["YAML password", phrase, (s) => `db:\n  password: ${s}\n`, "values.yaml"],
  ["YAML password of several words", () => `quiet ${draw(small, 6)} lantern`, (s) => `password: ${s}\n`, "values.yaml"],
  ["YAML passphrase", phrase, (s) => `tls:\n  passphrase: "${s}"\n`, "app.yaml"],
  ["YAML passphrase in a log", phrase, (s) => `I1116 opened with passphrase: ${s}\n`],
  ["YAML token", phrase, (s) => `token: ${s}\n`, "agent.yaml"],
  ["YAML token in a log", () => random(12), (s) => `W1116 answered 401, token: ${s} at once\n`],
  ["YAML block", phrase, (s) => `proxy:\n  password: |\n    ${s}\n  port: 1\n`, "proxy.yaml"],
  ["YAML block in a log", phrase, (s) => `dump of it\n  secret: >-\n    ${s}\n    more\n  port: 1\n`],
  ["YAML value in the next line", phrase, (s) => `a:\n  token:\n    ${s}\n  b: 1\n`, "next.yaml"],
  ["YAML flow", phrase, (s) => `auth: {username: jane, password: ${s}}\n`, "flow.yaml"],
  ["YAML number as a password", () => draw("123456789", 9), (s) => `password: ${s}\n`, "number.yaml"],
  ["YAML quoted with spaces", () => `it is ${draw(small, 8)}`, (s) => `clientSecret: '${s}'\n`, "oidc.yaml"],
  ["YAML list of tokens", phrase, (s) => `tokens:\n- ${s}\n- other\n`, "list.yaml"],
  ["YAML with an anchor", phrase, (s) => `a: &p\n  password: ${s}\nb: *p\n`, "anchor.yaml"],
  ["YAML comment", phrase, (s) => `# password: ${s}\nport: 1\n`, "comment.yaml"],
  ["YAML object below a secret name", phrase, (s) => `password:\n  value: ${s}\n`, "below.yaml"],
  // JSON
  ["JSON password", phrase, (s) => JSON.stringify({ user: "jane", password: s }), "a.json"],
  ["JSON with spaces in it", phrase, (s) => JSON.stringify({ secret: `${s} and more` }, null, 2), "b.json"],
  ["JSON in a line of a log", phrase, (s) => `I1116 got {"user":"jane","accessToken":"${s}"} from it\n`],
  ["JSON in JSON", phrase, (s) => JSON.stringify({ message: JSON.stringify({ apiKey: s }) }), "c.json"],
  ["JSON in JSON in a log", phrase, (s) => `x ${JSON.stringify(JSON.stringify({ password: s }))} y\n`],
  ["JSON cut off", phrase, (s) => `I1116 {"a":{"client_secret":"${s}","b":\n`],
  ["JSON with a quotation mark in the value", phrase, (s) => `{"x":1,"password":"a\\"${s}"} cut {\n`],
  ["JSON number as a pass code", () => draw("123456789", 8), (s) => `{"passcode":${s}}`, "d.json"],
  ["JSON array under a secret name", phrase, (s) => JSON.stringify({ passwords: 1, tokens: [s] }), "e.json"],
  ["JSON keys twice", phrase, (s) => `{"password":"${s}","password":""}`, "twice.json"],
  ["JSON5-like", phrase, (s) => `{password: '${s}', port: 1}\n`],
  ["Go map", phrase, (s) => `I1116 map[password:${s} user:jane]\n`],
  ["Go struct", phrase, (s) => `I1116 &{User:jane Password:${s} Port:1}\n`],
  ["XML element", phrase, (s) => `<login><user>jane</user><password>${s}</password></login>\n`, "a.xml"],
  ["XML attribute", phrase, (s) => `<login user="jane" password="${s}"/>\n`, "b.xml"],
  ["XML pair", phrase, (s) => `<property name="db.password" value="${s}"/>\n`, "c.xml"],
  ["TOML", phrase, (s) => `[db]\npassword = "${s}"\n`, "a.toml"],
  ["INI", phrase, (s) => `[db]\npwd=${s}\n`, "a.ini"],
  ["INI with spaces", () => `two ${draw(small, 7)}`, (s) => `[db]\npassword = ${s}\n`, "b.ini"],
  ["Java properties", phrase, (s) => `spring.datasource.password=${s}\n`, "a.properties"],
  ["HCL", phrase, (s) => `provider "x" {\n  secret_key = "${s}"\n}\n`, "a.tf"],
  [
    "a Dockerfile",
    phrase,
    (s) => `FROM x\nENV DB_PASSWORD ${s}\nARG NPM_TOKEN=${s}\n`.replace("ENV DB_PASSWORD ", "ENV DB_PASSWORD="),
    "Dockerfile",
  ],
  // Environments and units
  ["environment file", phrase, (s) => `A=1\nDB_PASSWORD=${s}\n`, "app.env"],
  ["environment file with export and quotes", phrase, (s) => `export API_TOKEN="${s} x"\n`, "b.env"],
  ["environment file with spaces", () => `two ${draw(small, 7)}`, (s) => `REGISTRY_PASSWORD=${s}\n`, "c.env"],
  ["systemd Environment", phrase, (s) => `[Service]\nEnvironment=REGISTRY_TOKEN=${s}\n`, "a.service"],
  ["systemd Environment quoted", phrase, (s) => `[Service]\nEnvironment="A=1" "MY_SECRET=${s} x"\n`, "b.service"],
  ["environment in a command line", phrase, (s) => `+ GITLAB_TOKEN=${s} run it\n`],
  [
    "environment of a container, name and value",
    phrase,
    (s) => `env:\n- name: DB_PASSWORD\n  value: ${s}\n`,
    "pod.yaml",
  ],
  [
    "environment of a container in JSON",
    phrase,
    (s) => `{"envs":[{"key":"AWS_SECRET_ACCESS_KEY","value":"${s}"}]}`,
    "x.inspect",
  ],
  ["environment of a container as words", phrase, (s) => `{"env":["PATH=/bin","REGISTRY_TOKEN=${s}"]}`, "y.inspect"],
  ["environment pair in a log", phrase, (s) => `I1116 {Name:DB_PASSWORD Value:${s} ValueFrom:nil}\n`],
  ["environment variable that ends with KEY", phrase, (s) => `I1116 with MAILER_KEY=${s} set\n`],
  ["JSON in a page", phrase, (s) => `<p>{&quot;password&quot;:&quot;${s}&quot;,&quot;a&quot;:1}</p>\n`],
  ["colours of a terminal", phrase, (s) => `\u001b[31mpassword=\u001b[0m${s}\u001b[0m\n`],
  ["shell words glued together", phrase, (s) => `export DB_PASSWORD='a b'"${s}"\n`],
  // Command lines
  ["flag with a space", phrase, (s) => `proxy --password ${s} --verbose\n`],
  ["flag with an equals sign", phrase, (s) => `proxy --bearer-token=${s}\n`],
  ["flag with quotes", phrase, (s) => `proxy --token '${s}' --x\n`],
  ["flag in a list of words", phrase, (s) => JSON.stringify({ args: ["--password", s, "--x"] }), "args.json"],
  ["flag in a YAML list", phrase, (s) => `args:\n- --token\n- ${s}\n- --x\n`, "args.yaml"],
  ["flag with one dash", phrase, (s) => `tool -password ${s}\n`],
  ["curl -u", phrase, (s) => `curl -u jane:${s} https://x.example\n`],
  ["curl --user", phrase, (s) => `curl --user "jane:${s}" https://x.example\n`],
  ["curl --proxy-user", phrase, (s) => `curl --proxy-user jane:${s} https://x.example\n`],
  ["curl -H Authorization", phrase, (s) => `curl -H 'Authorization: Bearer ${s}' https://x.example\n`],
  ["curl -H with another scheme", phrase, (s) => `curl -H "Authorization: ApiKey ${s}" https://x.example\n`],
  ["curl -H of another header", phrase, (s) => `curl -H "X-Vault-Token: ${s}" https://x.example\n`],
  ["curl -d", phrase, (s) => `curl -d "user=jane&password=${s}" https://x.example\n`],
  ["mysql -p", phrase, (s) => `mysql -u root -p${s} db\n`],
  ["sshpass -p", phrase, (s) => `sshpass -p ${s} ssh x\n`],
  ["docker login -p", phrase, (s) => `docker login -u jane -p ${s} r.example\n`],
  ["skopeo --creds", phrase, (s) => `skopeo copy --src-creds jane:${s} a b\n`],
  ["redis-cli -a", phrase, (s) => `redis-cli -h x -a ${s} ping\n`],
  ["ldapsearch -w", phrase, (s) => `ldapsearch -D cn=admin -w ${s} -b x\n`],
  ["openssl -passin", phrase, (s) => `openssl pkcs12 -in x -passin pass:${s} -nodes\n`],
  ["keytool", phrase, (s) => `keytool -list -storepass ${s} -keystore x\n`],
  ["Java option", phrase, (s) => `java -Djavax.net.ssl.keyStorePassword=${s} -jar x\n`],
  ["kubectl create secret", phrase, (s) => `kubectl create secret generic x --from-literal=a=${s}\n`],
  [
    "kubectl create secret docker-registry",
    phrase,
    (s) => `kubectl create secret docker-registry x --docker-password=${s}\n`,
  ],
  ["helm --set", phrase, (s) => `helm install --set a=1,db.password=${s},b=2 x\n`],
  [
    "kubeadm join",
    () => `${draw(`${small}${digits}`, 6)}.${draw(`${small}${digits}`, 16)}`,
    (s) => `kubeadm join 192.0.2.1:6443 --token ${s} --discovery-token-ca-cert-hash sha256:${"a1".repeat(32)}\n`,
  ],
  ["kubeadm certificate key", () => hex(64), (s) => `kubeadm join x --control-plane --certificate-key ${s}\n`],
  [
    "a bootstrap token alone",
    () => `${draw(small, 6)}.${draw(`${small}${digits}`, 16)}`,
    (s) => `I1116 joins with ${s}\n`,
  ],
  ["SQL", phrase, (s) => `CREATE USER jane WITH PASSWORD '${s}';\n`],
  ["SQL identified by", phrase, (s) => `ALTER USER jane SET PASSWORD TO '${s}'\n`],
  ["netrc", phrase, (s) => `machine x.example login jane password ${s}\n`, "netrc.txt"],
  ["pgpass", phrase, (s) => `db.example:5432:app:jane:${s}\n`, "pg.txt"],
  ["a sentence", phrase, (s) => `E1116 the password is ${s}\n`],
  ["a password in backquotes", phrase, (s) => `E1116 password: \`${s}\`\n`],
  // URLs
  ["URL with a login", phrase, (s) => `proxy http://jane:${s}@proxy.example:3128 refused\n`],
  ["URL with a token as login", phrase, (s) => `git clone https://${s}@git.example/x\n`],
  ["URL with a percent sign in the login", phrase, (s) => `http://jane:${s}%21@proxy.example/\n`],
  ["URL with two at signs", phrase, (s) => `http://jane@corp:${s}@proxy.example/\n`],
  ["URL query token", phrase, (s) => `GET https://x/y?token=${s}&z=1\n`],
  ["URL query signature", () => hex(64), (s) => `GET https://b.example/x?X-Amz-Expires=9&X-Amz-Signature=${s}&z=1\n`],
  ["URL query security token", phrase, (s) => `GET https://b.example/x?X-Amz-Security-Token=${s}\n`],
  ["URL query sig", () => `${random(43)}%3D`, (s) => `https://a.example/c?sv=2021&se=1&sig=${s}&sp=r\n`],
  ["URL fragment", phrase, (s) => `http://127.0.0.1:8095/#token=${s}\n`],
  ["database URL", phrase, (s) => `DATABASE=postgres://app:${s}@db.example:5432/app?sslmode=require\n`],
  ["MySQL data source", phrase, (s) => `app:${s}@tcp(db.example:3306)/app\n`],
  ["connection string", phrase, (s) => `Server=db;User Id=jane;Password=${s};Encrypt=true\n`],
  [
    "storage connection string",
    () => `${random(86)}==`,
    (s) => `DefaultEndpointsProtocol=https;AccountName=x;AccountKey=${s};EndpointSuffix=core.example\n`,
  ],
  ["shared access signature", () => random(44), (s) => `SharedAccessSignature=sr=x&sig=${s}&se=1\n`],
  ["a chat's webhook", () => random(24), (s) => `https://hooks.slack.com/services/T0/B0/${s}\n`],
  // Headers
  ["Authorization Basic", () => b64(`jane:${phrase()}`), (s) => `> Authorization: Basic ${s}\n`],
  ["Authorization Digest", () => hex(32), (s) => `Authorization: Digest username="jane", response="${s}"\n`],
  ["Authorization in Go", phrase, (s) => `map[Accept:[*/*] Authorization:[Bearer ${s}] X:[1]]\n`],
  ["Authorization in JSON", phrase, (s) => JSON.stringify({ headers: { Authorization: `Token ${s}` } }), "h.json"],
  [
    "Authorization in a list of headers",
    phrase,
    (s) => JSON.stringify({ httpHeaders: [{ name: "Authorization", value: s }] }),
    "probe.json",
  ],
  ["Proxy-Authorization", phrase, (s) => `CONNECT x:1 HTTP/1.1\r\nProxy-Authorization: Basic ${b64(`jane:${s}`)}\r\n`],
  ["Cookie", phrase, (s) => `Cookie: a=1; session=${s}; b=${s}\n`],
  ["Set-Cookie", phrase, (s) => `< Set-Cookie: sid=${s}; Path=/; HttpOnly\n`],
  [
    "the page's own cookie",
    () => randomBytes(32).toString("base64url"),
    (s) => `I1116 asked with drawbridge-8095=${s}; x\n`,
  ],
  ["X-Auth-Token", phrase, (s) => `X-Auth-Token: ${s}\n`],
  ["X-Api-Key", phrase, (s) => `x-api-key: ${s}\n`],
  ["a bare Bearer", phrase, (s) => `W1116 Bearer ${s} was refused\n`],
  // Kubernetes
  [
    "Secret in YAML",
    phrase,
    (s) => `apiVersion: v1\nkind: Secret\nmetadata:\n  name: x\ndata:\n  a: ${b64(s)}\nstringData:\n  b: ${s}\n`,
    "object.yaml",
  ],
  [
    "Secret in JSON",
    phrase,
    (s) => JSON.stringify({ kind: "Secret", data: { a: b64(s) }, stringData: { b: s } }),
    "object.json",
  ],
  ["SecretList", phrase, (s) => JSON.stringify({ kind: "SecretList", items: [{ data: { a: b64(s) } }] }), "list.json"],
  [
    "Secret in a List",
    phrase,
    (s) => JSON.stringify({ kind: "List", items: [{ kind: "Secret", data: { a: b64(s) } }] }),
    "all.json",
  ],
  [
    "Secret in a line of a log",
    phrase,
    (s) => `I1116 created {"kind":"Secret","data":{"tls.x":"${b64(s)}"}} at once\n`,
  ],
  [
    "Secret in a line of a log, cut off",
    phrase,
    (s) => `I1116 created {"kind":"Secret","data":{"x":"${b64(s)}"},"type":"Opa\n`,
  ],
  [
    "Secret over lines of a log",
    phrase,
    (s) => `I1116 rendered\napiVersion: v1\nkind: Secret\ndata:\n  x: ${b64(s)}\nI1116 done with it\n`,
  ],
  [
    "Secret as an applied annotation",
    phrase,
    (s) =>
      JSON.stringify({
        kind: "ConfigMap",
        metadata: {
          annotations: {
            "kubectl.kubernetes.io/last-applied-configuration": JSON.stringify({
              kind: "Secret",
              stringData: { b: s },
            }),
          },
        },
      }),
    "applied.json",
  ],
  [
    "Secret in a ConfigMap",
    phrase,
    (s) => `kind: ConfigMap\ndata:\n  x.yaml: |\n    kind: Secret\n    stringData:\n      b: ${s}\n`,
    "configmap.yaml",
  ],
  ["kubeconfig", phrase, (s) => kubeconfigWith(s, keys.ec()), "admin.conf"],
  [
    "kubeconfig of a login",
    phrase,
    (s) =>
      `users:\n- name: a\n  user:\n    auth-provider:\n      name: oidc\n      config:\n        id-token: ${s}\n        refresh-token: ${s}\n        client-secret: ${s}\n`,
    "oidc.conf",
  ],
  [
    "kubeconfig of a program",
    phrase,
    (s) =>
      `users:\n- user:\n    exec:\n      command: x\n      env:\n      - name: AWS_SESSION_TOKEN\n        value: ${s}\n`,
    "exec.conf",
  ],
  ["kubeconfig of a user", phrase, (s) => `users:\n- user: {username: kubeadmin, password: ${s}}\n`, "user.conf"],
  [
    "pull secret",
    () => b64(`jane:${phrase()}`),
    (s) => `{"auths":{"quay.example":{"auth":"${s}","email":"x"}}}`,
    "config.json",
  ],
  [
    "pull secret in install-config",
    () => b64(`jane:${phrase()}`),
    (s) => `pullSecret: '{"auths":{"x":{"auth":"${s}"}}}'\n`,
    "install-config.yaml",
  ],
  [
    "service account token",
    () => `${`${"ey"}J`}${random(30)}.${`${"ey"}J`}${random(60)}.${random(60)}`,
    (s) => `I1116 mounted ${s} there\n`,
  ],
  ["OpenShift token", () => `sha256~${random(43)}`, (s) => `oc login --server=x ${s}\n`],
  // Ignition
  [
    "Ignition passwordHash",
    () => `$y$j9T$${random(22)}$${random(43)}`,
    (s) => JSON.stringify({ passwd: { users: [{ name: "core", passwordHash: s }] } }),
    "a.ign",
  ],
  ["Ignition data URL in base64", phrase, (s) => ignitionWith(`data:;base64,${b64(`password=${s}\n`)}`), "b.ign"],
  [
    "Ignition data URL in percent",
    phrase,
    (s) => ignitionWith(`data:,${encodeURIComponent(`password=${s}\n`)}`),
    "c.ign",
  ],
  [
    "Ignition data URL all in percent",
    phrase,
    (s) => ignitionWith(`data:text/plain;charset=utf-8,${everyPercent(`token: ${s}\n`)}`),
    "d.ign",
  ],
  [
    "Ignition data URL packed",
    phrase,
    (s) => ignitionWith(`data:;base64,${b64(gzipSync(`A=1\nDB_PASSWORD=${s}\n`))}`, "gzip"),
    "e.ign",
  ],
  [
    "Ignition kubeconfig in percent",
    phrase,
    (s) => ignitionWith(`data:,${encodeURIComponent(kubeconfigWith(s, keys.ec()))}`),
    "f.ign",
  ],
  [
    "Ignition unit",
    phrase,
    (s) => JSON.stringify({ systemd: { units: [{ name: "x", contents: `[Service]\nEnvironment=X_TOKEN=${s}\n` }] } }),
    "g.ign",
  ],
  [
    "Ignition disk key",
    phrase,
    (s) => JSON.stringify({ storage: { luks: [{ name: "x", keyFile: { contents: { source: `data:,${s}` } } }] } }),
    "h.ign",
  ],
  [
    "Ignition header",
    phrase,
    (s) =>
      JSON.stringify({
        ignition: {
          config: { merge: [{ source: "https://x", httpHeaders: [{ name: "Authorization", value: `Bearer ${s}` }] }] },
        },
      }),
    "i.ign",
  ],
  [
    "Ignition in a Secret in YAML in base64",
    phrase,
    (s) => `userData: ${b64(ignitionWith(`data:;base64,${b64(kubeconfigWith(s, keys.ec()))}`))}\n`,
    "deep.yaml",
  ],
  [
    "cloud-init",
    phrase,
    (s) =>
      `#cloud-config\nchpasswd:\n  list: |\n    root:x\nwrite_files:\n- encoding: b64\n  content: ${b64(`token=${s}`)}\n`,
    "user-data.yaml",
  ],
  // Hashes of passwords
  ["htpasswd bcrypt", () => `$2y$05$${random(53)}`, (s) => `jane:${s}\n`, "users.txt"],
  ["shadow sha512", () => `$6$${random(16)}$${random(86)}`, (s) => `root:${s}:19000:0:99999:7:::\n`, "accounts.txt"],
  ["shadow yescrypt", () => `$y$j9T$${random(22)}$${random(43)}`, (s) => `root:${s}:19000::::::\n`, "accounts2.txt"],
  ["Apache md5", () => `$apr1$${random(8)}$${random(22)}`, (s) => `jane:${s}\n`, "users2.txt"],
  ["LDAP", () => random(38), (s) => `userPassword: {SSHA}${s}\n`, "ldif.txt"],
  ["argon2", () => `${random(22)}$${random(43)}`, (s) => `I1116 stored $argon2id$v=19$m=65536,t=3,p=4$${s}\n`],
  // Tokens of services
  ["cloud key id", () => `${"AK"}IA${draw(`${small.toUpperCase()}234567`, 16)}`, (s) => `I1116 signed by ${s} now\n`],
  [
    "cloud session key id",
    () => `${"AS"}IA${draw(`${small.toUpperCase()}234567`, 16)}`,
    (s) => `{"id":"${s}"}`,
    "id.json",
  ],
  ["cloud access key id by name", phrase, (s) => `aws_access_key_id = ${s}\n`, "aws.ini"],
  ["cloud secret key", () => random(40), (s) => `aws_secret_access_key = ${s}\n`, "aws2.ini"],
  ["cloud secret key alone", () => random(40), (s) => `I1116 used ${s} for it\n`],
  ["GitHub token", () => `${"gh"}p_${random(36)}`, (s) => `I1116 cloned with ${s}\n`],
  ["GitHub fine-grained token", () => `${"github"}_pat_${random(22)}_${random(59)}`, (s) => `I1116 cloned with ${s}\n`],
  ["GitLab token", () => `${"gl"}pat-${random(20)}`, (s) => `I1116 cloned with ${s}\n`],
  ["Slack token", () => `${"xo"}xb-${draw(digits, 12)}-${random(24)}`, (s) => `I1116 told with ${s}\n`],
  ["npm token", () => `${"np"}m_${random(36)}`, (s) => `//registry.example/:_authToken=${s}\n`, "npmrc.txt"],
  ["Google key", () => `${"AI"}za${random(35)}`, (s) => `I1116 maps with ${s}\n`],
  ["Google OAuth token", () => `${"ya"}29.${random(60)}`, (s) => `I1116 called with ${s}\n`],
  ["Stripe key", () => `${"sk"}_live_${random(24)}`, (s) => `I1116 paid with ${s}\n`],
  ["Vault token", () => `${"hv"}s.${random(24)}`, (s) => `I1116 unsealed by ${s}\n`],
  ["Docker Hub token", () => `${"dckr"}_pat_${random(27)}`, (s) => `I1116 pulled with ${s}\n`],
  ["age key", () => `AGE-SECRET-${"KEY"}-1${draw(`${small.toUpperCase()}${digits}`, 58)}`, (s) => `${s}\n`, "age.txt"],
  ["WireGuard key", () => `${random(43)}=`, (s) => `[Interface]\nPrivateKey = ${s}\n`, "wg0.conf"],
  ["WireGuard preshared key", () => `${random(43)}=`, (s) => `[Peer]\nPresharedKey = ${s}\n`, "wg1.conf"],
  ["TLS-PSK", () => hex(64), (s) => `PSK: client:\npsk = ${s}\n`, "psk.txt"],
  [
    "one-time password",
    () => draw("ABCDEFGHIJKLMNOPQRSTUVWXYZ234567", 16),
    (s) => `otpauth://totp/x?secret=${s}&issuer=y\n`,
  ],
  // By nothing but their looks
  ["random letters and digits", () => random(32), (s) => `I1116 value ${s} seen\n`],
  ["random base64", () => b64(randomBytes(33)), (s) => `I1116 value ${s} seen\n`],
  ["random base64url", () => randomBytes(32).toString("base64url"), (s) => `I1116 value ${s} seen\n`],
  [
    "random small letters and digits",
    () => `${draw(`${small}${digits}`, 30)}a1b2c3d4`,
    (s) => `I1116 value ${s} seen\n`,
  ],
  // Spelled otherwise
  ["base64 of a text with a password", phrase, (s) => `I1116 blob ${b64(`user=jane\npassword=${s}\n`)} seen\n`],
  ["base64 of base64", phrase, (s) => `I1116 blob ${b64(b64(`password=${s}\n`))} seen\n`],
  ["base64 of packed", phrase, (s) => `I1116 blob ${b64(gzipSync(`password: ${s}\n`))} seen\n`],
  [
    "base64 over lines",
    () => `quiet.${draw(small, 60)}.lantern`,
    (s) => `${b64(`${"x ".repeat(20)}\npassword=${s}\n${"y ".repeat(30)}`).replace(/(.{76})/g, "$1\n")}\n`,
  ],
  [
    "base64 of UTF-16",
    phrase,
    (s) => `I1116 powershell -enc ${Buffer.from(`$p = 1; password=${s}`, "utf16le").toString("base64")}\n`,
  ],
  [
    "hexadecimal of a text with a password",
    phrase,
    (s) => `I1116 bytes ${Buffer.from(`password=${s} more`).toString("hex")} seen\n`,
  ],
  ["percent-encoded form", phrase, (s) => `body user%3Djane%26password%3D${s}%26x%3D1\n`],
  [
    "percent-encoded twice",
    phrase,
    (s) => `next=${encodeURIComponent(encodeURIComponent(`https://x/?token=${s}&a=1`))}\n`,
  ],
  ["UTF-16 file", phrase, (s) => Buffer.from(`\ufeffpassword=${s}\r\n`, "utf16le"), "win.txt"],
  [
    "UTF-16 file of the other order",
    phrase,
    (s) => Buffer.from(`\ufeffpassword=${s}\r\n`, "utf16le").swap16(),
    "win2.txt",
  ],
  ["packed file", phrase, (s) => gzipSync(`I1116 x\npassword=${s}\n`), "old.log.gz"],
  ["file with Windows' line ends", phrase, (s) => `a=1\r\npassword=${s}\r\nb=2\r\n`, "crlf.ini"],
  ["file of latin letters", phrase, (s) => Buffer.from(`gr\xfc\xdfe\npassword=${s}\n`, "latin1"), "latin.txt"],
];

/** Keys have many lines, and each is one too many. */
const keyForms: readonly (readonly [name: string, key: () => string, text: (key: string) => string, file?: string])[] =
  [
    ["RSA key", keys.rsa, (k) => `before\n${k}after\n`],
    ["EC key", keys.ec, (k) => k, "thing.pem"],
    ["PKCS#8 key", keys.ed, (k) => `x: |\n${k.replace(/^/gm, "  ")}\n`, "indented.yaml"],
    ["encrypted key", keys.sealed, (k) => k, "sealed.pem"],
    ["OpenSSH key", () => armoured("OPENSSH PRIVATE KEY", bodyLines(5)), (k) => k, "host.txt"],
    ["PGP key", () => armoured("PGP PRIVATE KEY BLOCK", ["", ...bodyLines(5)]), (k) => k, "pgp.asc"],
    [
      "PuTTY key",
      () => bodyLines(4).join("\n"),
      (k) =>
        `PuTTY-User-Key-File-3: ssh-ed25519\nEncryption: none\nPrivate-Lines: 4\n${k}\nPrivate-MAC: ${hex(64)}\nafter\n`,
      "putty.txt",
    ],
    ["key in JSON", keys.rsa, (k) => JSON.stringify({ private: 1, some: k }), "key.json"],
    [
      "key of a cloud's service account",
      keys.rsa,
      (k) => JSON.stringify({ type: "service_account", private_key: k }),
      "account.json",
    ],
    ["key with a log's prefixes", keys.rsa, (k) => k.replace(/^/gm, "2026-11-16T00:00:00Z stderr F ")],
    ["key in one line", keys.ec, (k) => `I1116 key ${k.replaceAll("\n", " ")} seen\n`],
    ["key with escaped line ends", keys.ec, (k) => `I1116 key="${k.replaceAll("\n", "\\n")}" seen\n`],
    ["key cut at its end", keys.rsa, (k) => `line\n${k.slice(0, 500)}`],
    [
      "key cut at its end with more behind",
      keys.rsa,
      (k) => `line\n${k.split("\n").slice(0, 6).join("\n")}\nI1116 the log goes on, with words\n`,
    ],
    ["key cut at its beginning", keys.rsa, (k) => k.slice(200)],
    ["key without its first and last line", keys.rsa, (k) => bodyOf(k).slice(0, -1).join("\n")],
    ["key in base64", keys.ec, (k) => `tls.crt: ${b64(k)}\n`, "tls.yaml"],
    [
      "key after a certificate in base64",
      keys.ec,
      (k) => `blob ${b64(`${begin("CERTIFICATE")}\nAAAA\n${end("CERTIFICATE")}\n${k}`)}\n`,
    ],
    ["key in percent", keys.ec, (k) => ignitionWith(`data:,${encodeURIComponent(k)}`), "key.ign"],
    ["key with Windows' line ends", keys.ec, (k) => k.replaceAll("\n", "\r\n")],
    [
      "key as bare DER",
      () => b64(generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey.export({ type: "pkcs8", format: "der" })),
      (k) => `I1116 der ${k}\n`,
    ],
  ];

export function planted(): Planted[] {
  const values = forms.map(([name, secret, text, file = "some.log"]): Planted => {
    const drawn = secret();
    return { name, file, content: Buffer.from(text(drawn)), secrets: [drawn] };
  });
  const privateKeys = keyForms.map(([name, key, text, file = "some.log"]): Planted => {
    const drawn = key();
    return {
      name,
      file,
      content: Buffer.from(text(drawn)),
      secrets: bodyOf(drawn).length > 0 ? bodyOf(drawn) : [drawn],
    };
  });
  return [...values, ...privateKeys];
}

/** Where a secret stands in some bytes, in whatever spelling; undefined when it does not. Made without the redaction's help. */
export function findSecret(bytes: Buffer, secret: string, depth = 0): string | undefined {
  const texts = [
    bytes.toString("latin1"),
    bytes.toString("utf16le"),
    Buffer.from(bytes.subarray(0, bytes.length & ~1))
      .swap16()
      .toString("utf16le"),
  ];
  for (const text of texts) {
    const spelling = spellings(secret).find((each) => text.includes(each));
    if (spelling !== undefined) return `${spelling} at depth ${depth}`;
  }
  if (depth === 5) return undefined;
  const text = texts[0] as string;
  const inner = [
    ...(text.match(/[A-Za-z0-9+/_-]{8,}/g) ?? []).map((run) => Buffer.from(run, "base64")),
    ...(text.match(/(?:[0-9a-fA-F]{2}){8,}/g) ?? []).map((run) => Buffer.from(run, "hex")),
    ...(/%[0-9a-fA-F]{2}/.test(text)
      ? [
          Buffer.from(
            text.replace(/%([0-9a-fA-F]{2})/g, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16))),
            "latin1",
          ),
        ]
      : []),
    Buffer.from(text.replace(/[\s"']/g, ""), "latin1"),
  ];
  for (const piece of [bytes, ...inner]) {
    const plain = gunzipped(piece);
    const found =
      plain === piece
        ? piece === bytes
          ? undefined
          : shallow(piece, secret, depth)
        : findSecret(plain, secret, depth + 1);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** What was decoded is searched further only when it is text: nothing else nests. */
function shallow(piece: Buffer, secret: string, depth: number): string | undefined {
  const isText = piece.length > 6 && /^[\t\r\n\x20-\x7e]*$/.test(piece.toString("latin1"));
  const isWide = piece.length > 6 && piece.includes(0);
  return isText || isWide ? findSecret(piece, secret, depth + 1) : undefined;
}

function gunzipped(bytes: Buffer): Buffer {
  if (bytes[0] !== 0x1f || bytes[1] !== 0x8b) return bytes;
  try {
    return gunzip(bytes);
  } catch {
    return bytes;
  }
}

export function spellings(secret: string): string[] {
  const bytes = Buffer.from(secret);
  const shifted = [0, 1, 2].map((shift) => {
    const encoded = Buffer.concat([Buffer.alloc(shift), bytes]).toString("base64");
    // Without the characters that depend on what stands before and behind.
    return encoded.slice(
      Math.ceil((shift * 8) / 6) + (shift > 0 ? 1 : 0),
      Math.floor(((shift + bytes.length) * 8) / 6) - 1,
    );
  });
  return [
    secret,
    encodeURIComponent(secret),
    everyPercent(secret),
    everyPercent(secret).toUpperCase(),
    bytes.toString("hex"),
    bytes.toString("hex").toUpperCase(),
    ...shifted,
    ...shifted.map((text) => text.replaceAll("+", "-").replaceAll("/", "_")),
    JSON.stringify(secret).slice(1, -1),
  ];
}
