import type { RedisOptions } from 'ioredis';
import { readFileSync } from 'node:fs';
import { StartError } from '../start-error.ts';

type RedisAddress = Pick<
  RedisOptions,
  | 'host'
  | 'port'
  | 'username'
  | 'password'
  | 'db'
  | 'family'
  | 'tls'
  | 'sentinels'
  | 'name'
  | 'sentinelUsername'
  | 'sentinelPassword'
  | 'sentinelTLS'
  | 'enableTLSForSentinelMode'
> & {
  /** Path of a PEM file with an additional authority for the server's certificate. */
  caFile?: string;
};

const URL_FORM = /^(rediss?)(\+sentinel)?:\/\/(?:([^/?#]*)@)?([^@/?#]+)(?:\/([^?#]*))?(?:\?([^#]*))?$/;
const HOST_FORM = /^(\[[0-9a-fA-F:.%]+\]|[^:[\]\s]+)(?::(\d{1,5}))?$/;

const REDIS_PORT = 6379;
const SENTINEL_PORT = 26_379;

/** Parameters of every URL, and of one with Sentinels. */
const PARAMETERS = new Set(['ca', 'family', 'db']);
const OF_SENTINELS = new Set([...PARAMETERS, 'sentinel_username', 'sentinel_password']);

/**
 * Parses a Redis URL: `redis://[user:password@]host[:port][/db]`, or with Sentinels
 * `redis+sentinel://[user:password@]host[:port],host…/master name`; `rediss` instead of `redis` for TLS, including the
 * Sentinels'. Parameters: `ca` (a PEM file), `family` (4 or 6), `db`, `sentinel_username`, `sentinel_password`. User,
 * password, name and parameters may be percent-encoded. Returns a string with the problem, to start a sentence, for any
 * other text; it repeats nothing that may be secret.
 */
export function parseRedisUrl(url: string): RedisAddress | string {
  const match = URL_FORM.exec(url);
  if (match === null) {
    return 'must be a URL that begins with redis:// or rediss://, or for Sentinels with redis+sentinel:// or rediss+sentinel://.';
  }
  const [, scheme, sentinel, login, hostList = '', path = '', query = ''] = match;
  const parts = decoded([...(login ?? '').split(/:(.*)/s).slice(0, 2), path]);
  if (parts === null) return 'has a "%" that is not followed by two hex digits.';
  const [username = '', password = '', place = ''] =
    login?.includes(':') === true ? parts : [parts[0], '', parts.at(-1)];
  const parameters = new URLSearchParams(query);
  const known = sentinel === undefined ? PARAMETERS : OF_SENTINELS;
  for (const name of parameters.keys()) if (!known.has(name)) return `has an unknown parameter "${name}".`;

  const hosts = hostList.split(',').map((host) => hostOf(host, sentinel === undefined ? REDIS_PORT : SENTINEL_PORT));
  if (hosts.includes(null)) return 'has a host that is not "name" or "name:port".';
  if (sentinel === undefined && hosts.length > 1) return 'has several hosts; only redis+sentinel:// allows that.';
  const db = parameters.get('db') ?? (sentinel === undefined && place !== '' ? place : '0');
  if (!/^\d{1,4}$/.test(db)) return 'has an invalid database number.';
  const family = parameters.get('family');
  if (family !== null && !/^[046]$/.test(family)) return 'has a "family" that is not 4 or 6.';

  const ca = parameters.get('ca');
  const address: RedisAddress = {
    ...(username !== '' && { username }),
    ...(password !== '' && { password }),
    db: Number(db),
    ...(family !== null && { family: Number(family) }),
    ...(scheme === 'rediss' && { tls: {} }),
    ...(ca !== null && { caFile: ca }),
  };
  if (ca !== null && scheme !== 'rediss') return 'names a certificate authority but has no TLS: write rediss.';
  if (sentinel === undefined) return { ...address, ...hosts[0] };
  if (place === '') return 'does not end with the name of the master: redis+sentinel://host:port/name.';
  const sentinelUsername = parameters.get('sentinel_username');
  const sentinelPassword = parameters.get('sentinel_password');
  return {
    ...address,
    sentinels: hosts as { host: string; port: number }[],
    name: place,
    ...(sentinelUsername !== null && { sentinelUsername }),
    ...(sentinelPassword !== null && { sentinelPassword }),
    ...(scheme === 'rediss' && { enableTLSForSentinelMode: true, sentinelTLS: {} }),
  };
}

const NEXT_URL = /,(?=rediss?(?:\+sentinel)?:\/\/)/;

/**
 * Parses REDIS_URL: the URL of one Redis, or those of several nodes of a cluster, separated by commas. The first URL's user,
 * password and parameters apply to all nodes. Returns a string with the problem, to start a sentence, for any other text.
 */
export function parseRedisUrls(text: string): { url: string; address: RedisAddress }[] | string {
  const parsed: { url: string; address: RedisAddress }[] = [];
  for (const url of text.split(NEXT_URL)) {
    const address = parseRedisUrl(url);
    if (typeof address === 'string') return address;
    parsed.push({ url, address });
  }
  if (parsed.length > 1 && parsed.some(({ address }) => address.sentinels !== undefined))
    return 'names Sentinels beside another server: name the Sentinels of one master, or the nodes of one cluster.';
  if (
    parsed.length > 1 &&
    parsed.some(({ address }) => (address.tls === undefined) !== (parsed[0]!.address.tls === undefined))
  )
    return 'names nodes with TLS and without.';
  return parsed;
}

/** The options for a URL that `parseRedisUrl` accepts. Throws StartError. */
export function addressOptions(url: string): Omit<RedisAddress, 'caFile'> {
  const address = parseRedisUrl(url);
  if (typeof address === 'string') throw new StartError(`REDIS_URL ${address}`);
  const { caFile, ...options } = address;
  if (caFile === undefined) return options;
  let ca: Buffer;
  try {
    ca = readFileSync(caFile);
  } catch (error) {
    throw new StartError(
      `The certificate authority of REDIS_URL (ca) cannot be read: ${error instanceof Error ? error.message : String(error)}.`,
    );
  }
  return { ...options, tls: { ca }, ...(options.sentinels !== undefined && { sentinelTLS: { ca } }) };
}

/** The texts without percent-encoding; `null` if one is malformed. */
function decoded(texts: readonly string[]): string[] | null {
  try {
    return texts.map((text) => decodeURIComponent(text));
  } catch {
    return null;
  }
}

function hostOf(text: string, defaultPort: number): { host: string; port: number } | null {
  const [, host, port = String(defaultPort)] = HOST_FORM.exec(text) ?? [];
  if (host === undefined || Number(port) < 1 || Number(port) > 65_535) return null;
  return { host: host.replace(/^\[(.*)\]$/, '$1'), port: Number(port) };
}

/** Names and values in an answer of Redis or a Sentinel: a map in RESP3, a flat list in RESP2. */
export function fieldsOf(answer: unknown): Map<string, string> {
  if (!Array.isArray(answer)) return new Map(Object.entries(answer as Record<string, string>));
  const flat = answer.flat().map(String);
  return new Map(flat.flatMap((name, at) => (at % 2 === 0 ? [[name, flat[at + 1]!] as const] : [])));
}
