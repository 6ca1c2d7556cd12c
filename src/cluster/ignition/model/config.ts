/**
 * An Ignition config of spec 3.5, which is what every older 3.x is translated to. Absent and empty are different
 * things: a child's empty string replaces its parent's value, an absent one does not. Lists are never empty but absent.
 */
export interface Config {
  readonly ignition: Ignition;
  readonly kernelArguments?: KernelArguments;
  readonly passwd?: Passwd;
  readonly storage?: Storage;
  readonly systemd?: Systemd;
}

interface Ignition {
  readonly config?: { readonly merge?: readonly Resource[]; readonly replace?: Resource };
  readonly proxy?: ProxySettings;
  readonly security?: { readonly tls?: { readonly certificateAuthorities?: readonly Resource[] } };
  readonly timeouts?: { readonly httpResponseHeaders?: number; readonly httpTotal?: number };
  readonly version: string;
}

export interface ProxySettings {
  readonly httpProxy?: string;
  readonly httpsProxy?: string;
  readonly noProxy?: readonly string[];
}

/** Something to fetch: a config, an authority, a file's content, a key. */
export interface Resource {
  readonly compression?: string;
  readonly httpHeaders?: readonly HttpHeader[];
  readonly source?: string;
  readonly verification?: { readonly hash?: string };
}

export interface HttpHeader {
  readonly name: string;
  /** Absent in a child: the parent's header goes. */
  readonly value?: string;
}

interface KernelArguments {
  readonly shouldExist?: readonly string[];
  readonly shouldNotExist?: readonly string[];
}

interface Passwd {
  readonly groups?: readonly PasswdGroup[];
  readonly users?: readonly PasswdUser[];
}

export interface PasswdGroup {
  readonly gid?: number;
  readonly name: string;
  readonly passwordHash?: string;
  readonly shouldExist?: boolean;
  readonly system?: boolean;
}

export interface PasswdUser {
  readonly gecos?: string;
  readonly groups?: readonly string[];
  readonly homeDir?: string;
  readonly name: string;
  readonly noCreateHome?: boolean;
  readonly noLogInit?: boolean;
  readonly noUserGroup?: boolean;
  readonly passwordHash?: string;
  readonly primaryGroup?: string;
  readonly shell?: string;
  readonly shouldExist?: boolean;
  readonly sshAuthorizedKeys?: readonly string[];
  readonly system?: boolean;
  readonly uid?: number;
}

export interface Storage {
  readonly directories?: readonly DirectoryEntry[];
  readonly disks?: readonly Disk[];
  readonly files?: readonly FileEntry[];
  readonly filesystems?: readonly Filesystem[];
  readonly links?: readonly LinkEntry[];
  readonly luks?: readonly Luks[];
  readonly raid?: readonly Raid[];
}

/** What files, directories and links have in common. */
export interface NodeEntry {
  readonly group?: Owner;
  readonly overwrite?: boolean;
  readonly path: string;
  readonly user?: Owner;
}

export interface Owner {
  readonly id?: number;
  readonly name?: string;
}

export interface FileEntry extends NodeEntry {
  readonly append?: readonly Resource[];
  readonly contents?: Resource;
  readonly mode?: number;
}

export interface DirectoryEntry extends NodeEntry {
  readonly mode?: number;
}

export interface LinkEntry extends NodeEntry {
  readonly hard?: boolean;
  readonly target?: string;
}

export interface Disk {
  readonly device: string;
  readonly partitions?: readonly Partition[];
  readonly wipeTable?: boolean;
}

export interface Partition {
  readonly guid?: string;
  readonly label?: string;
  /** From 1 on; absent for the next free one, which may also be written as 0. */
  readonly number?: number;
  readonly resize?: boolean;
  readonly shouldExist?: boolean;
  readonly sizeMiB?: number;
  readonly startMiB?: number;
  readonly typeGuid?: string;
  readonly wipePartitionEntry?: boolean;
}

export interface Raid {
  readonly devices?: readonly string[];
  readonly level?: string;
  readonly name: string;
  readonly options?: readonly string[];
  readonly spares?: number;
}

export interface Filesystem {
  readonly device: string;
  readonly format?: string;
  readonly label?: string;
  readonly mountOptions?: readonly string[];
  readonly options?: readonly string[];
  readonly path?: string;
  readonly uuid?: string;
  readonly wipeFilesystem?: boolean;
}

export interface Luks {
  readonly cex?: { readonly enabled?: boolean };
  readonly clevis?: Clevis;
  readonly device?: string;
  readonly discard?: boolean;
  readonly keyFile?: Resource;
  readonly label?: string;
  readonly name: string;
  readonly openOptions?: readonly string[];
  readonly options?: readonly string[];
  readonly uuid?: string;
  readonly wipeVolume?: boolean;
}

export interface Clevis {
  readonly custom?: ClevisCustom;
  readonly tang?: readonly Tang[];
  readonly threshold?: number;
  readonly tpm2?: boolean;
}

export interface ClevisCustom {
  readonly config?: string;
  readonly needsNetwork?: boolean;
  readonly pin?: string;
}

export interface Tang {
  readonly advertisement?: string;
  readonly thumbprint?: string;
  readonly url: string;
}

interface Systemd {
  readonly units?: readonly Unit[];
}

export interface Unit {
  readonly contents?: string;
  readonly dropins?: readonly Dropin[];
  readonly enabled?: boolean;
  readonly mask?: boolean;
  readonly name: string;
}

export interface Dropin {
  readonly contents?: string;
  readonly name: string;
}
