import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { cp, mkdir, mkdtemp, writeFile } from 'node:fs/promises';
import { createServer, type AddressInfo, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { EventResult } from '../../../clients/typescript/src/index.ts';
import { PACKAGE_ROOT } from '../../../src/package-root.ts';
import { endChild, exitOf } from '../../stack/child-process.ts';

/** An installed engine without a display (none is downloaded): Debian's package godot3-server. `GODOT` names another one. */
const GODOT = process.env['GODOT'] ?? '/usr/bin/godot3-server';

export const hasGodot = existsSync(GODOT);
if (!hasGodot)
  console.log(
    `There is no Godot 3 at ${GODOT} (Debian's package godot3-server; GODOT names another): tests that need it are left out.`,
  );

/** What a call returned. */
interface Answer<T = unknown> {
  data: T;
  error: { code: string; message: string; status: number; balance: number | null } | null;
  key: string;
}
interface Signal {
  signal: string;
  [field: string]: unknown;
}
interface Target {
  target?: 'Laurel' | 'user' | 'leaderboard';
  of?: string;
}

/** Makes a folder with a project that uses the add-on, and an empty `user://`. */
export async function createProject({ authority = '' } = {}): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'laurel-godot-'));
  await cp(join(PACKAGE_ROOT, 'clients/godot/addons'), join(folder, 'addons'), { recursive: true });
  for (const file of ['driver.gd', 'driver.tscn'])
    await cp(join(PACKAGE_ROOT, 'test/clients/godot', file), join(folder, file));
  await mkdir(join(folder, 'data'));
  await writeFile(join(folder, 'authority.crt'), authority);
  const project = [
    'config_version=4',
    '[application]',
    'config/name="test"',
    'run/main_scene="res://driver.tscn"',
    '[autoload]',
    'Laurel="*res://addons/laurel/laurel.gd"',
    ...(authority === '' ? [] : ['[network]', 'ssl/certificates="res://authority.crt"']),
  ];
  await writeFile(join(folder, 'project.godot'), `${project.join('\n')}\n`);
  return folder;
}

function runGodot(folder: string, args: string[], environment: Record<string, string> = {}): ChildProcess {
  return spawn(GODOT, ['--path', folder, ...args], {
    env: { PATH: process.env['PATH'], HOME: folder, XDG_DATA_HOME: join(folder, 'data'), ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
}

/** Runs a scene until it ends. Resolves with its output, and what the engine reports. */
export async function outputOf(folder: string, ...args: string[]): Promise<string> {
  const started = runGodot(folder, args);
  let output = '';
  for (const stream of [started.stdout!, started.stderr!])
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text;
      // A script that failed never ends the scene.
      if (output.includes('SCRIPT ERROR')) started.kill();
    });
  await once(started, 'close');
  return output;
}

/** Where the game's queue keeps its events. */
export const queueFolder = (folder: string): string => join(folder, 'data/godot/app_userdata/test/laurel/queue');

/** A game that runs in the engine, with the add-on, and does what a test asks for. */
export class Game {
  readonly signals: Signal[] = [];
  /** Errors of scripts, and faults that the engine reports. */
  output = '';
  private readonly answers = new Map<number, { resolve: (result: unknown) => void; reject: (error: Error) => void }>();
  private calls = 0;

  private readonly process: ChildProcess;
  private readonly socket: Socket;

  private constructor(started: ChildProcess, socket: Socket) {
    this.process = started;
    this.socket = socket;
    for (const stream of [started.stdout!, started.stderr!])
      stream.setEncoding('utf8').on('data', (text: string) => {
        this.output += text;
        // The call that failed never answers.
        if (!this.output.includes('SCRIPT ERROR')) return;
        for (const { reject } of this.answers.values()) reject(new Error(this.output));
      });
    socket.on('error', () => undefined);
    createInterface({ input: socket }).on('line', (line) => {
      const message = JSON.parse(line) as Signal | { id: number; result: unknown };
      if ('signal' in message) this.signals.push(message);
      else this.answers.get(message.id)?.resolve(message.result);
    });
  }

  static async start(folder: string): Promise<Game> {
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    const started = runGodot(folder, [], { TEST_PORT: String((server.address() as AddressInfo).port) });
    let early = '';
    const remember = (text: Buffer): void => void (early += text);
    started.stdout!.on('data', remember);
    started.stderr!.on('data', remember);
    const ended = exitOf(started).then(() => {
      throw new Error(`The game ended: ${early}`);
    });
    const [socket] = (await Promise.race([once(server, 'connection'), ended])) as [Socket];
    ended.catch(() => undefined);
    server.close();
    const game = new Game(started, socket);
    game.output = early;
    return game;
  }

  /** Calls a function of the add-on, and resolves with what it returned; with `wait`, when the call has an answer. */
  private send<T>(name: string, args: unknown[], wait: boolean, { target = 'Laurel', of }: Target = {}): Promise<T> {
    const id = this.calls++;
    const answer = new Promise<unknown>((resolve, reject) => this.answers.set(id, { resolve, reject }));
    this.socket.write(`${JSON.stringify({ id, target, of, name, arguments: args, wait })}\n`);
    return answer as Promise<T>;
  }

  configure = (options: object): Promise<Answer['error']> => this.send('configure', [options], false);
  queueSize = (): Promise<number> => this.send('queue_size', [], false);
  flush = (): Promise<unknown> => this.send('flush', [], false);
  /** Resolves when the event is stored. */
  track = (...args: unknown[]): Promise<Answer> => this.send('track', args, false);
  /** Resolves when the event is counted or refused. */
  tracked = (...args: unknown[]): Promise<Answer<EventResult>> => this.send('track', args, true);
  laurel = (name: string, ...args: unknown[]): Promise<Answer> => this.send(name, args, true);
  user = <T>(of: string, name: string, ...args: unknown[]): Promise<Answer<T>> =>
    this.send(name, args, true, { target: 'user', of });
  leaderboard = (of: string, name: string, ...args: unknown[]): Promise<Answer> =>
    this.send(name, args, true, { target: 'leaderboard', of });

  /** Ends the process at once. */
  async kill(): Promise<void> {
    await endChild(this.process, 'SIGKILL');
  }

  /** Ends the game as a player does. Returns what the engine reported about scripts and leaks. */
  async quit(): Promise<string> {
    if (this.process.exitCode === null && this.process.signalCode === null) {
      void this.send('quit', [], false);
      await exitOf(this.process);
    }
    return this.output;
  }
}
