import type { ChildProcess } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { freePort } from '../../src/local/free-ports.ts';
import { addressOptions } from '../../src/settings/redis-address.ts';
import { startOwnServer } from '../engine/rebuild/own-server.ts';
import { securedSettings, type OwnRedis, type Secured } from '../engine/rebuild/own-redis.ts';
import { DATA_FOLDER } from '../stack/data-folder.ts';
import { endChild } from '../stack/child-process.ts';

/** The Sentinel's name of its master. */
const NAME = 'laurel-test';

const LOOK_MS = 50;
/** A slow server on a busy machine must not count as dead: the test decides when another becomes master. */
const DOWN_AFTER_MS = 600_000;
const MOST_PORTS = 3;

/** A Sentinel that promotes another server on request. */
export class OwnSentinel {
  /** The address in Laurel's configuration: the first of its hosts never answers. */
  readonly url: string;
  /** The same without that host. */
  readonly urlOfAlive: string;
  private readonly directory = mkdtempSync(join(DATA_FOLDER, 'laurel-own-sentinel-'));
  private readonly own: string;
  private running: ChildProcess | null = null;

  private constructor(port: number, dead: number, secured: Secured | null) {
    this.own =
      secured === null
        ? `redis://127.0.0.1:${port}`
        : `rediss://:${secured.password}@127.0.0.1:${port}?ca=${encodeURIComponent(secured.certificates.authority)}`;
    const urlOf = (hosts: string): string =>
      secured === null
        ? `redis+sentinel://${hosts}/${NAME}`
        : `rediss+sentinel://:${secured.password}@${hosts}/${NAME}` +
          `?sentinel_password=${secured.password}&ca=${encodeURIComponent(secured.certificates.authority)}`;
    this.url = urlOf(`127.0.0.1:${dead},127.0.0.1:${port}`);
    this.urlOfAlive = urlOf(`127.0.0.1:${port}`);
  }

  /** Resolves when it knows the master's replicas. */
  static async start(master: OwnRedis, secured: Secured | null, replicas = 1): Promise<OwnSentinel> {
    for (let tries = 1; ; tries += 1) {
      const sentinel = await OwnSentinel.tryStart(master, secured, replicas);
      if (sentinel !== null) return sentinel;
      if (tries === MOST_PORTS) throw new Error('No Sentinel starts.');
    }
  }

  /** Null: its port was taken. */
  private static async tryStart(
    master: OwnRedis,
    secured: Secured | null,
    replicas: number,
  ): Promise<OwnSentinel | null> {
    const [port, dead] = [await freePort(), await freePort()];
    const sentinel = new OwnSentinel(port, dead, secured);
    const file = join(sentinel.directory, 'sentinel.conf');
    const settings = { ...(secured === null ? { port: String(port) } : securedSettings(port, secured)) };
    delete settings['masterauth'];
    writeFileSync(
      file,
      [
        `dir ${sentinel.directory}`,
        ...Object.entries(settings).map(([name, value]) => `${name} ${value}`),
        `sentinel monitor ${NAME} 127.0.0.1 ${master.port} 1`,
        `sentinel down-after-milliseconds ${NAME} ${DOWN_AFTER_MS}`,
        ...(secured === null ? [] : [`sentinel auth-pass ${NAME} ${secured.password}`]),
      ].join('\n'),
    );
    sentinel.running = await startOwnServer([file, '--sentinel'], sentinel.own);
    if (sentinel.running === null) {
      await sentinel.close();
      return null;
    }
    await sentinel.asked(async (ask) => {
      while (((await ask('REPLICAS', NAME)) as unknown[]).length < replicas) await sleep(LOOK_MS);
    });
    return sentinel;
  }

  /** Promotes the replica, in any state of its master; resolves when clients are sent to it. */
  failover(): Promise<void> {
    return this.asked(async (ask) => {
      const leads = async (): Promise<string> => String(await ask('GET-MASTER-ADDR-BY-NAME', NAME));
      const before = await leads();
      while ((await leads()) === before) {
        // Refused during a failover, and while the replica has not answered lately.
        await ask('FAILOVER', NAME).catch(() => undefined);
        await sleep(LOOK_MS);
      }
    });
  }

  /** Sends it commands of `SENTINEL` over a separate connection. */
  private async asked(run: (ask: (...args: string[]) => Promise<unknown>) => Promise<void>): Promise<void> {
    const redis = new Redis({ ...addressOptions(this.own), maxRetriesPerRequest: null, retryStrategy: () => 10 });
    redis.on('error', () => undefined);
    try {
      await run((...args) => redis.call('SENTINEL', ...args));
    } finally {
      redis.disconnect();
    }
  }

  async close(): Promise<void> {
    if (this.running !== null) {
      await endChild(this.running, 'SIGKILL');
    }
    rmSync(this.directory, { recursive: true, force: true });
  }
}
