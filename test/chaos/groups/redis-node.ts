import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { freePort } from '../../../src/local/free-port.ts';
import { startGuarded, type GuardedProcess } from '../../../src/local/guarded-process.ts';
import { findRedisProgram, readRedisSettings } from '../../../src/local/redis-server.ts';
import { serverEnvironment } from '../../../src/local/server-environment.ts';
import { eventually, signal } from '../processes.ts';
import { PartitionProxy } from './partition-proxy.ts';

/** A Redis of a group: every answer on disk, known to everybody else by the port of a proxy. It ends with this process at the latest. */
export class RedisNode {
  readonly proxy: PartitionProxy;
  /** By which Laurel, the Sentinels and the other Redis know it. */
  readonly port: number;
  private readonly ownPort: number;
  private readonly folder: string;
  private server: GuardedProcess | null = null;

  private constructor(parts: { proxy: PartitionProxy; port: number; ownPort: number; folder: string }) {
    this.proxy = parts.proxy;
    this.port = parts.port;
    this.ownPort = parts.ownPort;
    this.folder = parts.folder;
  }

  /** Starts one, of the master that is known by a port, or as a master. */
  static async start(folder: string, master: number | null): Promise<RedisNode> {
    const ownPort = await freePort();
    const proxy = new PartitionProxy(ownPort);
    const node = new RedisNode({ proxy, port: await proxy.listen(), ownPort, folder });
    await node.start(master);
    return node;
  }

  get isRunning(): boolean {
    return this.server !== null;
  }

  get pids(): number[] {
    return this.server === null ? [] : [this.server.pid];
  }

  /** Starts it on what it has on disk; resolves when it answers. */
  async start(master: number | null): Promise<void> {
    await mkdir(this.folder, { recursive: true, mode: 0o700 });
    // A file, since Sentinels have a Redis write down there what they make of it.
    const file = join(this.folder, 'redis.conf');
    const { port, ownPort, folder } = this;
    await writeFile(file, settings({ port, ownPort, folder }, master).join('\n'));
    this.server = startGuarded({
      command: findRedisProgram()!,
      args: [file],
      stopSignal: 'SIGTERM',
      as: null,
      env: serverEnvironment(),
      removeAfterwards: null,
    });
    await eventually('a Redis answers', async () => (await this.command('PING').catch(() => '')) === 'PONG');
  }

  /** One command over a connection of its own, past the proxy; rejects where it is not answered within `timeoutMs`. */
  async command(...[name = '', ...words]: (string | number)[]): Promise<unknown> {
    const redis = new Redis({
      port: this.ownPort,
      lazyConnect: true,
      retryStrategy: () => null,
      commandTimeout: 2_000,
    });
    redis.on('error', () => undefined);
    try {
      await redis.connect();
      return await redis.call(String(name), ...words);
    } finally {
      redis.disconnect();
    }
  }

  /** A field of INFO REPLICATION; '' where there is none, or no answer. */
  async replication(field: string): Promise<string> {
    const info = String(await this.command('INFO', 'REPLICATION').catch(() => ''));
    return new RegExp(`^${field}:([^\r\n]*)`, 'm').exec(info)?.[1] ?? '';
  }

  pause(): void {
    signal(this.pids, 'SIGSTOP');
  }

  resume(): void {
    signal(this.pids, 'SIGCONT');
  }

  async kill(): Promise<void> {
    const { server } = this;
    if (server === null) return;
    this.server = null;
    signal([server.pid], 'SIGKILL');
    await server.exited;
  }

  /** Only while it is not running: its disk is gone. */
  async lose(): Promise<void> {
    await rm(this.folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 50 });
  }

  async close(): Promise<void> {
    await this.kill();
    this.proxy.close();
  }
}

const settings = (
  { port, ownPort, folder }: { port: number; ownPort: number; folder: string },
  master: number | null,
): string[] => [
  'bind 127.0.0.1',
  `port ${ownPort}`,
  `dir ${JSON.stringify(folder)}`,
  readRedisSettings(),
  'replica-announce-ip 127.0.0.1',
  `replica-announce-port ${port}`,
  ...(master === null ? [] : [`replicaof 127.0.0.1 ${master}`]),
];
