import { parseRedisUrl } from './redis-address.ts';

/** One of the servers that REDIS_URL names. */
export interface RedisEntry {
  /** As the placement of shards knows it: what stands before the URL, else its address, or the name of its master. */
  name: string;
  url: string;
}

const NEXT_ENTRY = /,(?=(?:[\w.:-]+=)?rediss?(?:\+sentinel)?:\/\/)/;
const NAMED = /^([\w.:-]+?)=(rediss?(?:\+sentinel)?:\/\/.*)$/s;

/**
 * The servers that REDIS_URL names: one URL, or several with commas between them, each with a name before it if it should have one
 * of its own (`east=redis://…,west=redis://…`). A string, which begins a sentence with what is wrong, where one is no
 * URL of a Redis, or two have one name.
 */
export function parseRedisEntries(text: string): RedisEntry[] | string {
  const entries: RedisEntry[] = [];
  for (const part of text.split(NEXT_ENTRY)) {
    const [, given, url = part] = NAMED.exec(part) ?? [];
    const address = parseRedisUrl(url);
    if (typeof address === 'string') return address;
    entries.push({ name: given ?? address.name ?? `${address.host}:${address.port}`, url });
  }
  const names = entries.map(({ name }) => name);
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  return twice === undefined ? entries : `names "${twice}" twice: give each Redis a name of its own (name=redis://…).`;
}

/** The URL of the first entry, which queues and messages between processes are on. Only for what `parseRedisEntries` takes. */
export function firstUrl(text: string): string {
  const entries = parseRedisEntries(text);
  return typeof entries === 'string' ? text : entries[0]!.url;
}
