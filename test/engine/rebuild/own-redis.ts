import type { ChildProcess } from 'node:child_process';
import { mkdtempSync, rmSync, statSync, truncateSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { freePort } from '../../../src/local/free-ports.ts';
import { readRedisSettings } from '../../../src/local/redis-server.ts';
import { addressOptions } from '../../../src/settings/redis-address.ts';
import { DATA_FOLDER } from '../../stack/data-folder.ts';
import type { Certificates } from '../../stack/certificates.ts';
import { startOwnServer } from './own-server.ts';
import { endChild } from '../../stack/child-process.ts';

/** Another process's connection may occupy a port for a moment. */
const MOST_TRIES = 50;
const MOST_PORTS = 3;
const RETRY_MS = 100;

/** How a server and its clients authenticate. */
export interface Secured {
  certificates: Certificates;
  password: string;
}

/** Settings of a server, or a Sentinel, that only accepts TLS connections. */
export const securedSettings = (port: number, { certificates, password }: Secured): Record<string, string> => ({
  port: '0',
  'tls-port': String(port),
  'tls-cert-file': certificates.certificate,
  'tls-key-file': certificates.key,
  'tls-ca-cert-file': certificates.authority,
  'tls-auth-clients': 'no',
  'tls-replication': 'yes',
  requirepass: password,
  masterauth: password,
});

/** `ops/redis.conf` as arguments: a Redis that was given a file writes to it when a Sentinel changes its role. */
const shippedSettings = (): string[] =>
  readRedisSettings()
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'))
    .flatMap((line) => {
      const [name = '', value = ''] = line.split(' ');
      return [`--${name}`, value === '""' ? '' : value];
    });

/** A Redis that a test can kill, restart on the same port with older or no data, and make a replica of another. */
export class OwnRedis {
  readonly url: string;
  readonly port: number;
  private readonly directory = mkdtempSync(join(DATA_FOLDER, 'laurel-own-redis-'));
  private readonly settings: Readonly<Record<string, string>>;
  private readonly program: string | undefined;
  private running: ChildProcess | null = null;

  private constructor(
    port: number,
    settings: Readonly<Record<string, string>>,
    { secured, program }: { secured: Secured | null; program: string | undefined },
  ) {
    this.port = port;
    this.program = program;
    this.settings = { ...(secured === null ? { port: String(port) } : securedSettings(port, secured)), ...settings };
    this.url =
      secured === null
        ? `redis://127.0.0.1:${port}`
        : `rediss://:${secured.password}@127.0.0.1:${port}?ca=${encodeURIComponent(secured.certificates.authority)}`;
  }

  /**
   * `settings`: in addition to the common ones. `secured`: accepts only connections with TLS and a password. `program`: the
   * shared default if absent.
   */
  static async start(
    settings: Readonly<Record<string, string>> = {},
    secured: Secured | null = null,
    program?: string,
  ): Promise<OwnRedis> {
    for (let tries = 1; ; tries += 1) {
      const redis = new OwnRedis(await freePort(), settings, { secured, program });
      try {
        await redis.start();
        return redis;
      } catch (error) {
        await redis.close();
        if (tries === MOST_PORTS) throw error;
      }
    }
  }

  /** Resolves when it accepts commands. Rejects if it ends again and again. */
  async start(): Promise<void> {
    const settings = {
      dir: this.directory,
      bind: '127.0.0.1',
      ...this.settings,
    };
    const named = Object.entries(settings).flatMap(([name, value]) => [`--${name}`, String(value)]);
    const args = [...shippedSettings(), ...named];
    for (let tries = 1; this.running === null; tries += 1) {
      this.running = await startOwnServer(args, this.url, this.program);
      if (this.running !== null) break;
      if (tries === MOST_TRIES) throw new Error(`No Redis starts on port ${this.port}.`);
      await sleep(RETRY_MS);
    }
    await this.command('PING');
  }

  /** Sends one command on its own connection; waits until the server accepts it. */
  async command(name: string, ...args: (string | number)[]): Promise<unknown> {
    const redis = new Redis({ ...addressOptions(this.url), maxRetriesPerRequest: null, retryStrategy: () => 10 });
    redis.on('error', () => undefined);
    try {
      return await redis.call(name, ...args);
    } finally {
      redis.disconnect();
    }
  }

  /** Makes it a replica of another; resolves when it is in sync. */
  async follow(master: OwnRedis): Promise<void> {
    await this.command('REPLICAOF', '127.0.0.1', master.port);
    const isLinked = async (): Promise<boolean> =>
      /master_link_status:up/.test(String(await this.command('INFO', 'replication')));
    while (!(await isLinked())) await new Promise((resolve) => setTimeout(resolve, 10));
  }

  /** Makes it a master with its data; first waits for all its master's writes, if that is given. */
  async lead(master?: OwnRedis): Promise<void> {
    const offset = async (of: OwnRedis, name: string): Promise<string | undefined> =>
      new RegExp(`^${name}:(\\d+)`, 'm').exec(String(await of.command('INFO', 'replication')))?.[1];
    while (
      master !== undefined &&
      (await offset(master, 'master_repl_offset')) !== (await offset(this, 'slave_repl_offset'))
    ) {
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    await this.command('REPLICAOF', 'NO', 'ONE');
  }

  /** Stops the process: it answers nothing, and its connections stay. */
  pause(): void {
    this.running?.kill('SIGSTOP');
  }

  resume(): void {
    this.running?.kill('SIGCONT');
  }

  async kill(): Promise<void> {
    if (this.running === null) return;
    await endChild(this.running, 'SIGKILL');
    this.running = null;
  }

  private get log(): string {
    return join(this.directory, 'appendonlydir', 'appendonly.aof.1.incr.aof');
  }

  /** Length of the append-only file, to cut it there later. */
  logBytes(): number {
    return statSync(this.log).size;
  }

  /** Only while it is not running: loses everything written after that length. */
  cutLog(bytes: number): void {
    truncateSync(this.log, bytes);
  }

  /** Only while it is not running: loses everything. */
  lose(): void {
    rmSync(join(this.directory, 'appendonlydir'), { recursive: true });
  }

  async close(): Promise<void> {
    await this.kill();
    // A child that rewrote the log may have outlived it for a moment.
    rmSync(this.directory, { recursive: true, force: true, maxRetries: 10, retryDelay: 50 });
  }
}
