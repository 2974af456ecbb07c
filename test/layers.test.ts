import { execFile } from 'node:child_process';
import { copyFile, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { PACKAGE_ROOT } from '../src/package-root.ts';

// Imports run downwards only. The linter's rules for that are easily written so that they never match, so every
// one of them is shown a file that breaks it, and one that does not.
const broken: Record<string, string> = {
  'src/domain/a.ts': "import '../redis/keys.ts';",
  'src/domain/b.ts': "import 'pg';",
  'src/domain/deep/c.ts': "import '../../engine/events/event-engine.ts';",
  'src/domain/deep/packed.ts': "import '../../packed/state.ts';",
  'src/packed/a.ts': "import '../redis/keys.ts';",
  'src/packed/b.ts': "import 'ioredis';",
  'src/redis/a.ts': "import '../catalog/catalogs.ts';",
  'src/postgres/persist/a.ts': "import '../../engine/events/event-engine.ts';",
  'src/catalog/a.ts': "import '../engine/users/user-reads.ts';",
  'src/engine/events/a.ts': "import '../../http/server.ts';",
  'src/engine/b.ts': "import '../operations/operation.ts';",
  'src/operations/application/a/a.ts': "import '../../../http/server.ts';",
  'src/operations/application/a/b.ts': "import '../../admin/streaks/list.ts';",
  'src/operations/admin/a/a.ts': "import '../../application/metrics/event.ts';",
  'src/operations/admin/a/b.ts': "import 'ioredis';",
  'src/http/a.ts': "import '../redis/client.ts';",
  'src/local/a.ts': "import '../postgres/pool.ts';",
  'src/cli.ts': "import 'uws-current';",
  'src/cli/a.ts': "import '../operations/operation.ts';",
  'src/cli/config/a.ts': "import '../../http/server.ts';",
  'src/domain/d.ts': "import '../cli/config.ts';",
  'src/domain/e.ts': "import '../log/log.ts';",
  'src/engine/e.ts': "import '../processes/composition.ts';",
  'src/http/b.ts': "import '../processes/serve.ts';",
  'src/engine/d.ts': "import '../cli/config.ts';",
  'workers/jobs/a.ts': "import '../../src/http/server.ts';",
  'workers/b.ts': "import '../src/operations/operation.ts';",
};
const sound: Record<string, string> = {
  'src/domain/z.ts': "import './periods.ts';",
  'src/packed/z.ts': "import '../domain/decimal.ts';",
  'src/postgres/persist/z.ts': "import '../../packed/state.ts';",
  'src/redis/z.ts': "import '../domain/periods.ts';",
  'src/catalog/z.ts': "import '../postgres/pool.ts';",
  'src/engine/events/z.ts': "import '../../catalog/plan.ts';",
  'src/operations/application/a/z.ts': "import '../../operation.ts';",
  'src/cli/z.ts': "import '../postgres/pool.ts';",
  'src/http/z.ts': "import 'uws-current';",
  'workers/jobs/z.ts': "import '../../src/engine/persist/persister.ts';",
};
const cycle: Record<string, string> = {
  'src/engine/one.ts': "import { two } from './two.ts';\nexport const one = () => two();",
  'src/engine/two.ts': "import { one } from './one.ts';\nexport const two = () => one();",
};

interface Finding {
  code: string;
  filename: string;
}

let folder: string;
let findings: Finding[];

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'laurel-test-layers-'));
  await copyFile(join(PACKAGE_ROOT, '.oxlintrc.json'), join(folder, '.oxlintrc.json'));
  for (const [file, text] of Object.entries({ ...broken, ...sound, ...cycle })) {
    await mkdir(dirname(join(folder, file)), { recursive: true });
    await writeFile(join(folder, file), `${text}\n`);
  }
  findings = await lint(folder);
});

afterAll(() => rm(folder, { recursive: true, force: true }));

async function lint(cwd: string): Promise<Finding[]> {
  const program = join(PACKAGE_ROOT, 'node_modules/.bin/oxlint');
  // It ends with 1 when it finds something.
  const { stdout } = await promisify(execFile)(program, ['--format=json'], { cwd }).catch(
    (error: { stdout: string }) => error,
  );
  return (JSON.parse(stdout) as { diagnostics: Finding[] }).diagnostics;
}

const findingsIn = (file: string, rule: string): Finding[] =>
  findings.filter(({ code, filename }) => filename.endsWith(file) && code.includes(rule));

describe('the layers', () => {
  test.each(Object.entries(broken))('%s: %s is refused', (file) => {
    expect(findingsIn(file, 'no-restricted-imports')).toHaveLength(1);
  });

  test.each(Object.entries(sound))('%s: %s is allowed', (file) => {
    expect(findingsIn(file, 'no-restricted-imports')).toHaveLength(0);
  });

  test('a circle of imports is refused', () => {
    expect(findingsIn('src/engine/one.ts', 'no-cycle')).toHaveLength(1);
  });
});
