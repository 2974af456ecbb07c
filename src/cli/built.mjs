// What was built from what: a stamp beside what was built says so.
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, renameSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pid, versions } from 'node:process';

/** Every file in a folder, at any depth; none where there is no such folder. Absolute paths, sorted. */
export const filesBelow = (root, folder) =>
  existsSync(join(root, folder))
    ? readdirSync(join(root, folder), { recursive: true, withFileTypes: true })
        .filter((entry) => entry.isFile())
        .map((entry) => join(entry.parentPath, entry.name))
        .sort()
    : [];

/**
 * A digest of names and content of files, and of Node's version. Not of times: a checkout changes them, and a copy may keep
 * them. About 30 ms for 500 files.
 */
export function digestOf(root, files) {
  const digest = createHash('sha256').update(versions.node);
  for (const file of files) {
    const content = readFileSync(file);
    digest.update(`\0${file.slice(root.length)}\0${content.length}\0`).update(content);
  }
  return digest.digest('hex');
}

/** Whether what was built is whole, and was built from what has this digest. `stamp`: its path from the root. */
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

/** Notes what folders hold and what it was built from. A file that is missing or cut short later shows in the sizes. */
export function stampBuilt(root, stamp, { digest, folders }) {
  const files = folders.flatMap((folder) => filesBelow(root, folder));
  const sizes = Object.fromEntries(files.map((file) => [file.slice(root.length), statSync(file).size]));
  const unfinished = join(root, `${stamp}.${pid}`);
  writeFileSync(unfinished, JSON.stringify({ digest, sizes }));
  renameSync(unfinished, join(root, stamp));
}
