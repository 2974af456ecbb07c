// A stamp next to a build records the sources that it was built from.
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, renameSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pid, versions } from 'node:process';

/** All files in a folder, at any depth; empty if the folder does not exist. Absolute paths, sorted. */
export const filesBelow = (root, folder) =>
  existsSync(join(root, folder))
    ? readdirSync(join(root, folder), { recursive: true, withFileTypes: true })
        .filter((entry) => entry.isFile())
        .map((entry) => join(entry.parentPath, entry.name))
        .sort()
    : [];

/**
 * A digest of the files' names and contents, and of Node's version. Ignores times: a checkout changes them, and a copy
 * may keep them. About 30 ms for 500 files.
 */
export function digestOf(root, files) {
  const digest = createHash('sha256').update(versions.node);
  for (const file of files) {
    const content = readFileSync(file);
    digest.update(`\0${file.slice(root.length)}\0${content.length}\0`).update(content);
  }
  return digest.digest('hex');
}

/** Whether the build is complete, and its sources had this digest. `stamp`: its path from the root. */
export function isBuilt(root, stamp, digest) {
  let built;
  try {
    built = JSON.parse(readFileSync(join(root, stamp), 'utf8'));
  } catch {
    return false;
  }
  const whole = Object.entries(built.sizes).every(
    ([file, size]) => statSync(join(root, file), { throwIfNoEntry: false })?.size === size,
  );
  return whole && built.digest === digest;
}

/** Records the built folders' contents and their sources' digest. Sizes reveal files that are missing or cut short. */
export function stampBuilt(root, stamp, { digest, folders }) {
  const files = folders.flatMap((folder) => filesBelow(root, folder));
  const sizes = Object.fromEntries(files.map((file) => [file.slice(root.length), statSync(file).size]));
  const unfinished = join(root, `${stamp}.${pid}`);
  writeFileSync(unfinished, JSON.stringify({ digest, sizes }));
  renameSync(unfinished, join(root, stamp));
}
