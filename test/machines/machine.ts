import { execFileSync } from 'node:child_process';
import { chmodSync, copyFileSync, cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { PACKAGE_ROOT } from '../../src/package-root.ts';
import { endAll, runCommand, type Command, type Finished } from './command.ts';

const MINUTE_MS = 60_000;
const SOURCES = '/etc/apt/sources.list.d/debian.sources';
const CERTIFICATES = '/etc/ssl/certs/ca-certificates.crt';

/** Binds /proc and /dev in the command's own mount namespace, so that nothing stays mounted, however it ends. */
const ENTER = [
  'mount --rbind /proc "$0/proc" && mount --rbind /dev "$0/dev" || exit 1',
  `exec chroot "$0" /bin/sh -c 'cd /laurel && exec "$@"' sh "$@"`,
].join('\n');

/** A system with a checkout of Laurel. Everything it writes is in `folder`, whose name identifies its processes. */
export interface Machine {
  name: string;
  folder: string;
  prepare(say: (line: string) => void): Promise<void>;
  /** From now on it has this one of "redis" and "valkey" and not the other; the host keeps what it has. */
  useServer(server: string): Promise<void>;
  /** From now on `node` and `npm` are of this release, from npm's package `node`. */
  useNode(release: string): Promise<void>;
  command(args: readonly string[], env?: Record<string, string>): Command;
  run(args: readonly string[], timeoutMs?: number): Promise<Finished>;
  /** Ends what still runs in it, and removes the folder. */
  remove(): void;
}

/** Throws a sentence if `debootstrap` cannot work. */
export function requireDebian(): void {
  const isDebian = process.platform === 'linux' && existsSync(SOURCES);
  if (!isDebian) throw new Error(`"npm run machines" needs a Debian whose packages come from ${SOURCES}.`);
  if (process.getuid?.() !== 0) throw new Error('"npm run machines" needs root: it changes the root directory.');
  if (!existsSync('/usr/sbin/debootstrap')) {
    throw new Error('"npm run machines" needs debootstrap: apt-get install debootstrap');
  }
}

/** This machine's own system and Redis, with its own Node and checkout. */
export function hostMachine(): Machine {
  const folder = newFolder();
  const enter: Machine['command'] = (args, env = {}) => ({
    args: ['env', `PATH=${join(folder, 'usr/local/bin')}:${process.env['PATH'] ?? ''}`, ...args],
    cwd: join(folder, 'laurel'),
    env,
  });
  const prepare = async (): Promise<void> => checkOut(folder);
  return { ...machine(folder, enter), name: systemOf('/'), prepare, useServer: async () => undefined };
}

/** Debian 13 in a temporary folder, from the mirror of this machine's packages. */
export function debianMachine(): Machine {
  const folder = newFolder();
  const enter: Machine['command'] = (args, env = {}) => ({
    args: ['unshare', '--mount', '--', 'sh', '-c', ENTER, folder, ...args],
    cwd: '/',
    env: { HOME: '/root', PATH: '/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin', ...env },
  });
  const rest = machine(folder, enter);
  const apt = async (...args: string[]): Promise<void> => {
    await rest.run(['apt-get', '-y', '-qq', ...args], 10 * MINUTE_MS);
  };
  return {
    ...rest,
    name: 'Debian 13',
    prepare: async (say) => {
      say('Debian 13 by debootstrap');
      const mirror = /^URIs:\s*(\S+)/m.exec(readFileSync(SOURCES, 'utf8'))?.[1] ?? '';
      const args = ['debootstrap', '--variant=minbase', 'trixie', folder, mirror];
      await runCommand({ args, cwd: '/', env: {} }, 10 * MINUTE_MS);
      copyNpmSettings(folder);
      // Installing a server's package starts no service.
      writeFileSync(join(folder, 'usr/sbin/policy-rc.d'), '#!/bin/sh\nexit 101\n', { mode: 0o755 });
      checkOut(folder);
      await apt('update');
      await apt('install', '--no-install-recommends', 'curl', 'procps', 'libatomic1');
    },
    useServer: async (server) => {
      const other = server === 'redis' ? 'valkey' : 'redis';
      await apt('purge', '--autoremove', `${other}-*`);
      // Laurel itself installs a missing Redis.
      if (server !== 'redis') await apt('install', '--no-install-recommends', `${server}-server`);
    },
  };
}

type Common = Pick<Machine, 'folder' | 'command' | 'run' | 'remove' | 'useNode'>;

function machine(folder: string, command: Machine['command']): Common {
  return {
    folder,
    command,
    run: (args, timeoutMs = MINUTE_MS) => runCommand(command(args), timeoutMs),
    useNode: (release) => installNode(folder, release),
    remove: () => {
      endAll(basename(folder));
      rmSync(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 250 });
    },
  };
}

function newFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'laurel-machines-'));
  chmodSync(folder, 0o755);
  return folder;
}

/** A checkout by git, including uncommitted files. */
function checkOut(folder: string): void {
  const args = ['ls-files', '-z', '--cached', '--others', '--exclude-standard'];
  const files = execFileSync('git', args, { cwd: PACKAGE_ROOT, encoding: 'utf8' }).split('\0');
  for (const file of files) {
    if (file === '' || !existsSync(join(PACKAGE_ROOT, file))) continue;
    mkdirSync(dirname(join(folder, 'laurel', file)), { recursive: true });
    cpSync(join(PACKAGE_ROOT, file), join(folder, 'laurel', file));
  }
}

/** The registry, the certificates and the other settings of npm on this machine. */
function copyNpmSettings(folder: string): void {
  const setting = (name: string): string =>
    execFileSync('npm', ['config', 'get', name], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim();
  const copies = [
    { from: setting('userconfig'), to: '/root/.npmrc' },
    { from: setting('globalconfig'), to: '/usr/local/etc/npmrc' },
    ...[CERTIFICATES, setting('cafile'), process.env['NODE_EXTRA_CA_CERTS'] ?? '', '/etc/hosts'].map((path) => ({
      from: path,
      to: path,
    })),
  ];
  for (const { from, to } of copies) {
    if (!existsSync(from)) continue;
    mkdirSync(dirname(join(folder, to)), { recursive: true });
    copyFileSync(from, join(folder, to));
  }
}

async function installNode(folder: string, release: string): Promise<void> {
  const scratch = join(folder, 'tmp', `node-${release}`);
  const bin = join(folder, 'usr/local/bin');
  for (const path of [scratch, bin]) mkdirSync(path, { recursive: true });
  const args = ['npm', 'install', '--prefix', scratch, '--no-save', '--no-package-lock', `node@${release}`];
  await runCommand({ args, cwd: scratch, env: {} }, 5 * MINUTE_MS);
  for (const name of ['node', 'npm', 'npx']) rmSync(join(bin, name), { force: true });
  copyFileSync(join(scratch, 'node_modules/node/bin/node'), join(bin, 'node'));
  rmSync(scratch, { recursive: true, force: true });
  const npm = join(folder, 'usr/local/lib/node_modules/npm');
  if (!existsSync(npm)) cpSync(npmFolder(), npm, { recursive: true });
  for (const name of ['npm', 'npx']) symlinkSync(`../lib/node_modules/npm/bin/${name}-cli.js`, join(bin, name));
}

const npmFolder = (): string =>
  join(
    execFileSync('npm', ['root', '--global'], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim(),
    'npm',
  );

function systemOf(root: string): string {
  const text = readFileSync(join(root, 'etc/os-release'), 'utf8');
  const field = (name: string): string => new RegExp(`^${name}="?([^"\n]*)`, 'm').exec(text)?.[1] ?? '';
  return `${field('NAME').split(' ')[0]} ${field('VERSION_ID')}`;
}
