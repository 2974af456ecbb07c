import type { RunningVersion } from '../../postgres/running-versions.ts';
import { version } from '../../version.ts';

/** How often a process reads the marks of its open shards. Functions compare the mark in each call; this is for reads. */
export const LOOK_MS = 500;

/**
 * Version of the keys that Laurel derives from Postgres (`derived-keys.ts`). Raise it when the form of such a key changes: Laurel
 * then rebuilds each shard that another version filled, once no process of another form runs (`refuseOtherVersions`).
 */
const FORM = 1;

export const ownVersion = (): RunningVersion => ({ version: version(), form: FORM });

/** The mark of a shard that is complete, see `markKey`. */
export const markOf = (installation: string, epoch: number): string => `${installation}:${epoch}:${FORM}`;
