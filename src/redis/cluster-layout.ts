import type { Redis } from 'ioredis';
import { fieldsOf } from '../redis-fields.ts';
import { INSTALLATION_TAG, SHARD_NUMBERS, shardTag } from './keys.ts';

/** Where a server listens. */
export interface Address {
  host: string;
  port: number;
}

/** `host:port`, the name of a node in the log and in metrics. */
export const nameOf = ({ host, port }: Address): string => `${host.includes(':') ? `[${host}]` : host}:${port}`;

/** A master of a cluster and the first and last slot of each range that it serves. */
interface Master extends Address {
  slots: readonly (readonly [first: number, last: number])[];
}

/** Which node serves which slots, as one node sees it. */
export interface ClusterLayout {
  /** Grows with each change of the cluster; the view with the highest epoch is the newest. */
  epoch: number;
  /** Whether the node sees a majority of the masters. */
  isWell: boolean;
  masters: readonly Master[];
  /** All nodes, replicas included. */
  nodes: readonly Address[];
}

/** The master of a slot; `undefined` if no master serves it. */
export const masterOf = ({ masters }: ClusterLayout, slot: number): Address | undefined =>
  masters.find(({ slots }) => slots.some(([first, last]) => first <= slot && slot <= last));

const SLOTS = 16_384;
/** CRC16 of XMODEM: the polynomial x^16 + x^12 + x^5 + 1. */
const POLYNOMIAL = 0x1021;

/** The slot of a hash tag, which is the slot of every key with this tag. */
export function slotOfTag(tag: string): number {
  let crc = 0;
  for (const byte of Buffer.from(tag)) {
    crc ^= byte << 8;
    for (let bit = 0; bit < 8; bit += 1) crc = (crc & 0x8000) === 0 ? crc << 1 : (crc << 1) ^ POLYNOMIAL;
    crc &= 0xffff;
  }
  return crc % SLOTS;
}

const SLOT_OF_SHARD: readonly number[] = SHARD_NUMBERS.map((shard) => slotOfTag(shardTag(shard)));

export const slotOfShard = (shard: number): number => SLOT_OF_SHARD[shard]!;

/** The slot of everything that belongs to no shard: queues, counts, tickets of live streams. */
export const INSTALLATION_SLOT = slotOfTag(INSTALLATION_TAG);

/** Whether a server is a node of a cluster. Throws errors of Redis. */
export const isClusterNode = async (redis: Redis): Promise<boolean> =>
  /^cluster_enabled:1/m.test(String(await redis.call('INFO', 'CLUSTER')));

/** Asks a node for its view. `asked`: the node's own address, for nodes that announce none. Throws errors of Redis. */
export async function askLayout(redis: Redis, asked: Address): Promise<ClusterLayout> {
  const [info, shards] = await Promise.all([redis.call('CLUSTER', 'INFO'), redis.call('CLUSTER', 'SHARDS')]);
  const field = (name: string): string => new RegExp(`^${name}:(\\w+)`, 'm').exec(String(info))?.[1] ?? '';
  const isTls = redis.options.tls !== undefined;
  return {
    epoch: Number(field('cluster_current_epoch')),
    isWell: field('cluster_state') === 'ok',
    ...parseShards(shards, { asked, isTls }),
  };
}

/** Parses the reply to CLUSTER SHARDS. */
export function parseShards(
  reply: unknown,
  { asked, isTls }: { asked: Address; isTls: boolean },
): Pick<ClusterLayout, 'masters' | 'nodes'> {
  const masters: Master[] = [];
  const nodes: Address[] = [];
  for (const group of reply as unknown[]) {
    const parts = valuesOf(group);
    const slots = parts.get('slots') as (string | number)[];
    let master: Address | null = null;
    for (const node of parts.get('nodes') as unknown[]) {
      const fields = fieldsOf(node);
      const address = addressOf(fields, asked, isTls);
      if (address === null) continue;
      nodes.push(address);
      // A master that failed keeps its place until a replica takes over, and then is still listed beside that.
      if (fields.get('role') === 'master' && (master === null || fields.get('health') !== 'fail')) master = address;
    }
    if (master !== null && slots.length > 0) masters.push({ ...master, slots: pairs(slots.map(Number)) });
  }
  return { masters, nodes };
}

/** Names and values of a reply, whose values may be lists. */
const valuesOf = (reply: unknown): Map<unknown, unknown> =>
  Array.isArray(reply) ? new Map(pairs(reply)) : new Map(Object.entries(reply as object));

const pairs = <T>(flat: readonly T[]): [T, T][] =>
  flat.flatMap((each, at) => (at % 2 === 0 ? [[each, flat[at + 1]!] as [T, T]] : []));

/** What the node announces to clients (`cluster-announce-*`, `cluster-preferred-endpoint-type`). */
function addressOf(fields: ReadonlyMap<string, string>, asked: Address, isTls: boolean): Address | null {
  const port = Number(fields.get(isTls ? 'tls-port' : 'port') ?? fields.get('port'));
  if (!Number.isInteger(port) || port < 1) return null;
  // A node that prefers "unknown-endpoint" is behind the address at which it was asked.
  const endpoint = fields.get('endpoint') ?? '';
  const host = endpoint === '?' ? '' : endpoint;
  return { host: host === '' || host === 'null' ? asked.host : host, port };
}
