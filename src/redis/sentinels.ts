import { Redis, type RedisOptions } from 'ioredis';
import { fieldsOf } from '../redis-fields.ts';

/** Time limit for a Sentinel to connect and to answer. */
const PATIENCE_MS = 500;

/** One Sentinel's view of a master. */
interface View {
  /** The Sentinel's own ID. */
  id: string;
  master: ReadonlyMap<string, string>;
  replicas: readonly ReadonlyMap<string, string>[];
}

/**
 * Whether the Sentinels rule out that one of `replicas`, which were missing before the call, is the master or becomes it before they
 * reach it again. True only if all Sentinels of the address answer, know of no other Sentinels, report no problem with the master
 * and no failover, and have no connection to these replicas. A Sentinel names the new master from the moment of the takeover,
 * reports a failover before that, and promotes only replicas that it reaches (decision 30).
 *
 * `options`: those of a connection through Sentinels; otherwise the result is false. `master`: its run_id. `replicas`:
 * `<host>:<port>`, as the master reports them. Never rejects.
 */
export async function cannotHaveTakenOver({
  options,
  master,
  replicas,
}: {
  options: RedisOptions;
  master: string;
  replicas: readonly string[];
}): Promise<boolean> {
  const { sentinels, name } = options;
  if (sentinels === undefined || sentinels === null || sentinels.length === 0 || name === undefined) return false;
  let views: View[];
  try {
    views = await Promise.all(sentinels.map((address) => viewOf({ ...options, ...address }, name)));
  } catch {
    return false;
  }
  return (
    new Set(views.map(({ id }) => id)).size === views.length &&
    views.every(
      (view) =>
        view.master.get('flags') === 'master' &&
        view.master.get('runid') === master &&
        view.master.get('num-other-sentinels') === String(views.length - 1) &&
        replicas.every((replica) => isUnreachable(view, replica)),
    )
  );
}

/** Whether a Sentinel has no connection to a replica, or considers it down. */
function isUnreachable(view: View, replica: string): boolean {
  const fields = view.replicas.find((each) => `${each.get('ip')}:${each.get('port')}` === replica);
  const flags = fields?.get('flags')?.split(',') ?? [];
  return flags.includes('slave') && (flags.includes('disconnected') || flags.includes('s_down'));
}

/** Rejects if the Sentinel does not answer or does not know the master. */
async function viewOf(options: RedisOptions, name: string): Promise<View> {
  const { host, port, family, sentinelUsername, sentinelPassword, sentinelTLS, enableTLSForSentinelMode } = options;
  const redis = new Redis({
    ...(host !== undefined && { host }),
    ...(port !== undefined && { port }),
    ...(family !== undefined && { family }),
    ...(typeof sentinelUsername === 'string' && { username: sentinelUsername }),
    ...(typeof sentinelPassword === 'string' && { password: sentinelPassword }),
    ...(enableTLSForSentinelMode === true && sentinelTLS !== undefined && { tls: sentinelTLS }),
    lazyConnect: true,
    connectTimeout: PATIENCE_MS,
    commandTimeout: PATIENCE_MS,
    maxRetriesPerRequest: 0,
    retryStrategy: () => null,
  });
  redis.on('error', () => undefined);
  try {
    await redis.connect();
    const [id, master, replicas] = await Promise.all([
      redis.call('SENTINEL', 'MYID'),
      redis.call('SENTINEL', 'MASTER', name),
      redis.call('SENTINEL', 'REPLICAS', name),
    ]);
    return { id: String(id), master: fieldsOf(master), replicas: (replicas as unknown[]).map(fieldsOf) };
  } finally {
    redis.disconnect();
  }
}
