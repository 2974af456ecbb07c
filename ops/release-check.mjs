// Checks that the files of a release agree with its tag, and prints the release's part of the changelog:
//   node ops/release-check.mjs v1.2.3
// Exit code 1 with all problems on standard error. The folder to check is the current one.
import { readFileSync } from 'node:fs';

const tag = process.argv[2] ?? '';
const problems = [];
/** @param {string} path */
const read = (path) => readFileSync(path, 'utf8');

const version = /^v(\d+\.\d+\.\d+(?:-[0-9A-Za-z.-]+)?)$/.exec(tag)?.[1];
if (version === undefined) {
  process.stderr.write(`"${tag}" is not a tag such as v1.2.3 or v1.2.3-rc.1.\n`);
  process.exit(1);
}

for (const path of ['package.json', 'clients/typescript/package.json']) {
  const found = JSON.parse(read(path)).version;
  if (found !== version) problems.push(`${path} has the version ${found}, not ${version}.`);
}

/** Files that name the image with its version. */
const WITH_IMAGE = [
  'docker-compose.yml',
  'docker-compose.cluster.yml',
  'ops/kubernetes/base/frontends.yaml',
  'ops/kubernetes/base/workers.yaml',
  'ops/kubernetes/base/migrate.yaml',
];
for (const path of WITH_IMAGE) {
  const tags = [...read(path).matchAll(/\blaurel:(\d[\w.-]*)/g)].map(([, found]) => found);
  if (tags.length === 0 || tags.some((found) => found !== version))
    problems.push(`${path} names the image with ${tags.join(', ') || 'no version'}, not ${version}.`);
}

// A candidate is described by the part of its release, whose date is not known yet.
const [release] = version.split('-');
const [newest = ''] = read('CHANGELOG.md')
  .split(/^(?=## )/m)
  .slice(1);
const [heading = '', ...lines] = newest.split('\n');
const wanted =
  version === release ? /^## (\S+) \(\d{4}-\d{2}-\d{2}\)$/ : /^## (\S+) \((?:unreleased|\d{4}-\d{2}-\d{2})\)$/;
if (wanted.exec(heading)?.[1] !== release)
  problems.push(`CHANGELOG.md begins with "${heading}", not with "## ${release} (<date of the release>)".`);
const notes = lines.join('\n').trim();
if (!/^- /m.test(notes)) problems.push(`CHANGELOG.md lists no change under "${heading}".`);

if (problems.length > 0) {
  process.stderr.write(`${problems.join('\n')}\n`);
  process.exit(1);
}
process.stdout.write(`${notes}\n`);
