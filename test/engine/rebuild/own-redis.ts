import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, statSync, truncateSync } from 'node:fs';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { freePort } from '../../../src/local/free-port.ts';
import { findRedisProgram } from '../../../src/local/redis-server.ts';
import { DATA_FOLDER } from '../../stack/data-folder.ts';

/** A Redis that a test can kill, start again on the same port, and have come back older or empty. */
export class OwnRedis {
  readonly url: string;
  private readonly port: number;
  private readonly directory = mkdtempSync(join(DATA_FOLDER, 'laurel-own-redis-'));
  private running: ChildProcess | null = null;

  private constructor(port: number) {
    this.port = port;
    this.url = `redis://127.0.0.1:${port}`;
  }

  static async start(): Promise<OwnRedis> {
    const redis = new OwnRedis(await freePort());
    await redis.start();
    return redis;
  }

  /** Resolves when it takes commands. */
  async start(): Promise<void> {
    const settings = {
      port: this.port,
      dir: this.directory,
      appendonly: 'yes',
      appendfsync: 'always',
      save: '',
      bind: '127.0.0.1',
    };
    const args = Object.entries(settings).flatMap(([name, value]) => [`--${name}`, String(value)]);
    this.running = spawn(findRedisProgram()!, args, { stdio: 'ignore' });
    const redis = new Redis(this.url, { maxRetriesPerRequest: null, retryStrategy: () => 10 });
    redis.on('error', () => undefined);
    await redis.ping();
    redis.disconnect();
  }

  async kill(): Promise<void> {
    if (this.running === null) return;
    const ended = once(this.running, 'exit');
    this.running.kill('SIGKILL');
    await ended;
    this.running = null;
  }

  private get log(): string {
    return join(this.directory, 'appendonlydir', 'appendonly.aof.1.incr.aof');
  }

  /** How long the log of writes is, to cut it there later. */
  logBytes(): number {
    return statSync(this.log).size;
  }

  /** Only while it is not running: what was written after that length is lost. */
  cutLog(bytes: number): void {
    truncateSync(this.log, bytes);
  }

  /** Only while it is not running: everything is lost. */
  lose(): void {
    rmSync(join(this.directory, 'appendonlydir'), { recursive: true });
  }

  async close(): Promise<void> {
    await this.kill();
    rmSync(this.directory, { recursive: true, force: true });
  }
}
