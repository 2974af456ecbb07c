import { execFileSync } from 'node:child_process';
import { existsSync, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';

/** How to run a server as another user than root: Postgres refuses to run as root, and Redis need not. */
export interface ServerUser {
  /** Owner of the data; null: this process's own user. */
  owner: { uid: number; gid: number } | null;
  /** Put before the command where the user must pass through directories that are closed to it. */
  prefix: readonly string[];
}

/** Why a server cannot run as another user than root here. */
export interface NoServerUser {
  problem: string;
}

/**
 * Whom a private server runs as: the user of this process, or, under root, the owner of the data, else `postgres`
 * where there is one, else `nobody`.
 * @param paths what that user must be able to reach: programs and data
 */
export function chooseServerUser(dataDir: string, paths: readonly string[]): ServerUser | NoServerUser {
  if (process.getuid?.() !== 0) return { owner: null, prefix: [] };
  const owner = ownerOf(dataDir) ?? accountOf('postgres') ?? accountOf('nobody');
  if (owner === null) return { problem: 'this machine has neither a user "postgres" nor "nobody"' };
  const closed = paths.find((path) => !isReachable(path));
  if (closed === undefined) return { owner, prefix: [] };
  if (!existsSync('/usr/bin/setpriv')) return { problem: `no other user may enter ${closed}` };
  // Another user, with one privilege of root kept: to pass through closed directories such as /root. Without the
  // secure bit, access(2), by which Postgres looks for its own programs, would not count that privilege.
  const kept = '-all,+dac_override';
  return {
    owner,
    prefix: [
      '/usr/bin/setpriv',
      `--reuid=${owner.uid}`,
      `--regid=${owner.gid}`,
      '--clear-groups',
      '--securebits=+no_setuid_fixup',
      `--inh-caps=${kept}`,
      '--ambient-caps=+dac_override',
      `--bounding-set=${kept}`,
    ],
  };
}

function ownerOf(path: string): { uid: number; gid: number } | null {
  if (!existsSync(path)) return null;
  const { uid, gid } = statSync(path);
  return uid === 0 ? null : { uid, gid };
}

/** By name, as this process found them: asking for one starts two programs. */
const accounts = new Map<string, ServerUser['owner']>();

function accountOf(name: string): ServerUser['owner'] {
  let account = accounts.get(name);
  if (account === undefined) accounts.set(name, (account = findAccount(name)));
  return account;
}

function findAccount(name: string): ServerUser['owner'] {
  try {
    const read = (flag: string): number =>
      Number(execFileSync('id', [flag, name], { stdio: ['ignore', 'pipe', 'ignore'] }));
    return { uid: read('-u'), gid: read('-g') };
  } catch {
    return null;
  }
}

/** True if every directory on the way may be entered by everybody. */
function isReachable(path: string): boolean {
  for (let directory = dirname(resolve(path)); ; directory = dirname(directory)) {
    if (existsSync(directory) && (statSync(directory).mode & 0o001) === 0) return false;
    if (directory === dirname(directory)) return true;
  }
}
