import type { Redis } from 'ioredis';
import { addTo } from '../grouped.ts';
import { fieldsOf } from '../settings/redis-address.ts';
import { INSTALLATION_TAG, SHARD_NUMBERS, shardTag } from './keys.ts';

export interface Address {
  host: string;
  port: number;
}

/** `host:port`, the name of a node in the log and in metrics. */
export const nameOf = ({ host, port }: Address): string => `${host.includes(':') ? `[${host}]` : host}:${port}`;

interface Master extends Address {
  slots: readonly (readonly [first: number, last: number])[];
}

/** The assignment of slots to nodes, as one node sees it. */
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

export const isClusterNode = async (redis: Redis): Promise<boolean> =>
  /^cluster_enabled:1/m.test(String(await redis.call('INFO', 'CLUSTER')));

/** Asks a node for its view. `asked`: the node's own address, for nodes that announce none. Throws errors of Redis. */
export async function askLayout(redis: Redis, address: Address): Promise<ClusterLayout> {
  const [info, shards, slots] = await Promise.all(
    ['INFO', 'SHARDS', 'SLOTS'].map((part) => redis.call('CLUSTER', part)),
  );
  const field = (name: string): string => new RegExp(`^${name}:(\\w+)`, 'm').exec(String(info))?.[1] ?? '';
  const isTls = redis.options.tls !== undefined;
  return {
    epoch: Number(field('cluster_current_epoch')),
    isWell: field('cluster_state') === 'ok',
    ...parseLayout({ shards, slots }, { asked: address, isTls }),
  };
}

/**
 * Parses the replies to CLUSTER SHARDS, which has all nodes with their addresses, and CLUSTER SLOTS, which has the master of each
 * range, failed or not: Redis 8 leaves out the slots of a failed master in CLUSTER SHARDS.
 */
export function parseLayout(
  { shards, slots }: { shards: unknown; slots: unknown },
  { asked, isTls }: { asked: Address; isTls: boolean },
): Pick<ClusterLayout, 'masters' | 'nodes'> {
  const addresses = new Map<string, Address>();
  for (const group of shards as unknown[]) {
    for (const node of valuesOf(group).get('nodes') as unknown[]) {
      const fields = fieldsOf(node);
      const address = addressOf(fields, asked, isTls);
      if (address !== null) addresses.set(fields.get('id') ?? '', address);
    }
  }
  const ranges = new Map<string, [first: number, last: number][]>();
  for (const [first, last, [, , id]] of slots as [number, number, [endpoint: unknown, port: unknown, id: string]][])
    addTo(ranges, id, [first, last]);
  const masters = [...ranges].flatMap(([id, served]) => {
    const address = addresses.get(id);
    return address === undefined ? [] : [{ ...address, slots: served }];
  });
  return { masters, nodes: [...addresses.values()] };
}

/**
 * The masters that no replica follows, and whether they serve slots. `asked`: the address of the node that is asked, for
 * nodes that announce none. Throws errors of Redis.
 */
export async function mastersWithoutReplica(
  redis: Redis,
  asked: Address,
): Promise<{ name: string; servesSlots: boolean }[]> {
  const isTls = redis.options.tls !== undefined;
  return ((await redis.call('CLUSTER', 'SHARDS')) as unknown[]).flatMap((group) => {
    const fields = valuesOf(group);
    const nodes = (fields.get('nodes') as unknown[]).map((node) => fieldsOf(node));
    const well = nodes.filter((node) => node.get('health') === 'online');
    const master = well.find((node) => node.get('role') === 'master');
    if (master === undefined || well.length > 1) return [];
    const name = nameOf(addressOf(master, asked, isTls) ?? asked);
    return [{ name, servesSlots: (fields.get('slots') as unknown[]).length > 0 }];
  });
}

/** Names and values of a reply, whose values may be lists. */
const valuesOf = (reply: unknown): Map<unknown, unknown> =>
  Array.isArray(reply) ? new Map(pairs(reply)) : new Map(Object.entries(reply as object));

const pairs = <T>(flat: readonly T[]): [T, T][] =>
  flat.flatMap((each, at) => (at % 2 === 0 ? [[each, flat[at + 1]!] as [T, T]] : []));

/** What the node announces to clients (`cluster-announce-*`, `cluster-preferred-endpoint-type`). */
function addressOf(fields: ReadonlyMap<string, string>, address: Address, isTls: boolean): Address | null {
  const port = Number(fields.get(isTls ? 'tls-port' : 'port') ?? fields.get('port'));
  if (!Number.isInteger(port) || port < 1) return null;
  // A node with preferred endpoint "unknown-endpoint" is reached at the address that was queried.
  const endpoint = fields.get('endpoint') ?? '';
  const host = endpoint === '?' ? '' : endpoint;
  return { host: host === '' || host === 'null' ? address.host : host, port };
}

/** Sends queries over a dedicated connection and closes it. */
export async function askOnce<T>(redis: Redis, ask: (redis: Redis) => Promise<T>): Promise<T> {
  redis.on('error', () => undefined);
  try {
    return await ask(redis);
  } finally {
    redis.disconnect();
  }
}

/** Ignores nodes without a majority, which may not know of a failover. */
export function newestOf(views: readonly (ClusterLayout | null)[]): ClusterLayout | null {
  const well = views.filter((view) => view?.isWell === true) as ClusterLayout[];
  return well.toSorted((a, b) => b.epoch - a.epoch)[0] ?? null;
}
