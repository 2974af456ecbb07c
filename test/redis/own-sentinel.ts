import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { freePort } from '../../src/local/free-port.ts';
import { findRedisProgram } from '../../src/local/redis-server.ts';
import { addressOptions } from '../../src/redis-address.ts';
import { securedSettings, type OwnRedis, type Secured } from '../engine/rebuild/own-redis.ts';
import { DATA_FOLDER } from '../stack/data-folder.ts';

/** What the Sentinel calls its master. */
const NAME = 'laurel-test';

/** A Sentinel that alone decides that its master is down, after half a second. */
export class OwnSentinel {
  /** As Laurel is given it: the first of its hosts answers to nobody. */
  readonly url: string;
  private readonly directory = mkdtempSync(join(DATA_FOLDER, 'laurel-own-sentinel-'));
  private running: ChildProcess | null = null;

  private constructor(port: number, dead: number, secured: Secured | null) {
    const hosts = `127.0.0.1:${dead},127.0.0.1:${port}`;
    this.url =
      secured === null
        ? `redis+sentinel://${hosts}/${NAME}`
        : `rediss+sentinel://:${secured.password}@${hosts}/${NAME}` +
          `?sentinel_password=${secured.password}&ca=${encodeURIComponent(secured.certificates.authority)}`;
  }

  /** Resolves when it knows the master's replica. */
  static async start(master: OwnRedis, secured: Secured | null): Promise<OwnSentinel> {
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
        `sentinel down-after-milliseconds ${NAME} 500`,
        `sentinel failover-timeout ${NAME} 2000`,
        ...(secured === null ? [] : [`sentinel auth-pass ${NAME} ${secured.password}`]),
      ].join('\n'),
    );
    sentinel.running = spawn(findRedisProgram()!, [file, '--sentinel'], { stdio: 'ignore' });
    const own =
      secured === null
        ? `redis://127.0.0.1:${port}`
        : `rediss://:${secured.password}@127.0.0.1:${port}?ca=${encodeURIComponent(secured.certificates.authority)}`;
    const redis = new Redis({ ...addressOptions(own), maxRetriesPerRequest: null, retryStrategy: () => 10 });
    redis.on('error', () => undefined);
    while (((await redis.call('SENTINEL', 'REPLICAS', NAME)) as unknown[]).length === 0) {
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    redis.disconnect();
    return sentinel;
  }

  async close(): Promise<void> {
    if (this.running !== null) {
      const ended = once(this.running, 'exit');
      this.running.kill('SIGKILL');
      await ended;
    }
    rmSync(this.directory, { recursive: true, force: true });
  }
}
