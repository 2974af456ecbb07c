import type { CompiledCatalog } from '../../catalog/compiled-catalog.ts';
import type { Finding } from '../../domain/administration/advice.ts';
import { suggestion } from '../../domain/nearest.ts';
import { KEY_PATTERN } from '../../domain/schemas.ts';
import { counted } from '../../domain/words.ts';
import type { RecentRequest } from '../../redis/recent-requests.ts';

/** Refused calls are reported from this number on. */
const LEAST_REFUSED = 5;
/** Longer keys would fill the sentence. */
const MOST_KEY = 64;
const KEY = new RegExp(KEY_PATTERN);
const EVENT_PATH = /^\/v1\/metrics\/([^/]+)\/event$/;

/** Calls that send one event, were refused in the last hour, and why most of them were. */
export function refusedEvents(options: {
  compiled: CompiledCatalog;
  requests: readonly RecentRequest[];
}): Finding | null {
  const { compiled, requests } = options;
  const sent = requests.flatMap(({ method, path, status, prefix }) => {
    const [, key] = (method === 'POST' && EVENT_PATH.exec(path)) || [];
    return key === undefined ? [] : [{ key, status, prefix }];
  });
  const refused = sent.filter(({ status }) => status >= 400 && status < 500);
  if (refused.length < LEAST_REFUSED) return null;
  const kinds = new Map<string, { key: string; status: number; count: number }>();
  for (const { key, status } of refused) {
    const kind = `${key} ${status}`;
    kinds.set(kind, { key, status, count: (kinds.get(kind)?.count ?? 0) + 1 });
  }
  const [most] = [...kinds.values()].sort((one, other) => other.count - one.count);
  const { key, status } = most!;
  const isUnknown = !compiled.metrics.has(key);
  // An end user chooses the path, so only what can be a key is quoted to an administrator.
  const isQuotable = KEY.test(key) && key.length <= MOST_KEY;
  const unknown = isQuotable ? `the metric '${key}', which does not exist` : 'metrics that do not exist';
  const why = isUnknown
    ? `most name ${unknown}${suggestion(key, compiled.metrics.keys())}`
    : `most with ${status} for '${key}'`;
  const senders = new Set(refused.map(({ prefix }) => prefix));
  const by = senders.size === 1 ? `, all sent with the key ${[...senders][0]}` : '';
  return {
    text: `${refused.length} of the latest ${counted(sent.length, 'event')} were refused${by}: ${why}.`,
    advice: isUnknown
      ? 'Correct the key in your app, or create the metric.'
      : 'The list of requests has the reason of each.',
    screen: '/requests',
  };
}
