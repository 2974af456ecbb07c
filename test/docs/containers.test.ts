import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { cp, mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { readEnv } from '../../src/settings/env.ts';
import { CHECKPOINTS } from '../../src/local/postgres-server.ts';
import { PACKAGE_ROOT } from '../../src/package-root.ts';
import { version } from '../../src/version.ts';

const read = (path: string): string => readFileSync(join(PACKAGE_ROOT, path), 'utf8');

interface Service {
  image: string;
  user?: string;
  command?: string[];
  env_file?: { path: string; required: boolean }[];
  environment: Record<string, string>;
  ports?: string[];
  tmpfs: string[];
  restart: string;
  healthcheck: { test: string[] } | { disable: true };
}

const servicesOf = (file: string): Record<string, Service> =>
  (parse(read(file), { merge: true }) as { services: Record<string, Service> }).services;

const OWN_IMAGE = `\${APP_IMAGE:-laurel:${version()}}`;
const FILES = ['docker-compose.yml', 'docker-compose.cluster.yml'];
const ALL = FILES.flatMap((file) => Object.entries(servicesOf(file)).map(([name, of]) => [file, name, of] as const));

test('the compose files have different project names, so they share no volume', () => {
  const names = FILES.map((file) => (parse(read(file), { merge: true }) as { name?: string }).name);
  expect(names).toEqual(['laurel', 'laurel-cluster']);
});

describe.each(ALL)('%s: the service %s', (_, name, service) => {
  test('can write only where it must, and has no privileges', () => {
    expect(service).toMatchObject({
      read_only: true,
      tmpfs: expect.arrayContaining(['/tmp']),
      cap_drop: ['ALL'],
      security_opt: ['no-new-privileges:true'],
      pids_limit: expect.any(Number),
      mem_limit: expect.stringMatching(/^\d+g$/),
      restart: expect.stringMatching(/^(unless-stopped|no)$/),
      // Unbounded logs fill the disk.
      logging: { driver: 'json-file', options: { 'max-size': '10m', 'max-file': '5' } },
    });
    // A service that runs once has no health check.
    if (service.restart === 'no') expect(service.healthcheck).toEqual({ disable: true });
    else expect(service.healthcheck).toMatchObject({ test: expect.arrayContaining([expect.any(String)]) });
    // The Dockerfile has ours.
    if (service.image !== OWN_IMAGE) expect(['postgres', 'redis', '${REDIS_USER:-valkey}']).toContain(service.user);
  });

  test('exposes only the Application API to other machines', () => {
    expect((service.ports ?? []).filter((port) => !port.startsWith('127.0.0.1:'))).toEqual(
      name === 'app' ? ['${APP_PORT:-8080}:8080'] : [],
    );
  });
});

test.each(FILES)('%s: no password has a default, and every image can be pinned by its digest', (file) => {
  const compose = read(file);
  const services = servicesOf(file);
  const secrets = [...compose.matchAll(/\$\{(\w+)([^}]*)\}/g)].filter(([, name]) => /PASSWORD|SECRET/.test(name!));
  expect(new Set(secrets.map(([, name]) => name))).toEqual(new Set(['REDIS_PASSWORD', 'POSTGRES_PASSWORD']));
  for (const [whole, , rest] of secrets) expect([whole, rest]).toEqual([whole, ':?is missing in .env']);
  expect(services['app']!.environment).toMatchObject({ NODE_ENV: 'production', ADMIN_HOST: '0.0.0.0' });
  for (const { image } of Object.values(services)) expect(image).toMatch(/^\$\{[A-Z]+_IMAGE:-[\w/:.-]+:[\w.-]+\}$/);
});

test.each(FILES)(
  '%s: no command or health check contains a password, which all users of the machine could read',
  (file) => {
    for (const { command, healthcheck } of Object.values(servicesOf(file)))
      expect(JSON.stringify([command, healthcheck])).not.toMatch(/\$\{\w*PASSWORD|(requirepass|masterauth)[ '"]+\$\{/);
  },
);

test.each(FILES)('%s: .env can set every variable of Laurel, and its published ports change none inside', (file) => {
  const services = servicesOf(file);
  for (const name of ['app', 'workers']) {
    const { image, env_file: envFile, environment } = services[name]!;
    expect([image, envFile]).toEqual([OWN_IMAGE, [{ path: '.env', required: false }]]);
    expect(environment).toMatchObject({ HOST: '0.0.0.0', APP_PORT: 8080, ADMIN_PORT: 8081 });
    // Laurel also gets what .env has for Compose, and refuses unknown variables that look like its own.
    const others = [...(read(file) + read('docker-compose.proxy.yml')).matchAll(/\$\{(\w+)/g)]
      .map(([, variable]) => variable!)
      .filter((variable) => !(variable in environment));
    expect(others).toContain('APP_IMAGE');
    const fixed = { ADMIN_PORT: '8081', APP_PORT: '8080' };
    expect(() => readEnv({ ...Object.fromEntries(others.map((variable) => [variable, 'x'])), ...fixed })).not.toThrow();
  }
});

test.each(['ci.yml', 'release.yml'])('the workflow %s pins each action to a commit and names its release', (file) => {
  const uses = [...read(`.github/workflows/${file}`).matchAll(/uses: (?!\.\/)(.*)/g)].map(([, action]) => action!);
  expect(uses.length).toBeGreaterThan(0);
  for (const action of uses) expect(action).toMatch(/^[\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/);
});

test.each(FILES)("%s: Postgres has the built-in server's checkpoint interval, and compares texts by bytes", (file) => {
  const { command, environment } = servicesOf(file)['postgres']!;
  expect(command).toEqual(expect.arrayContaining([...CHECKPOINTS, 'wal_compression=lz4', 'shared_buffers=512MB']));
  expect(environment['POSTGRES_INITDB_ARGS']).toContain('--locale=C');
});

test('the image runs as its own user and reports whether it is ready', () => {
  const dockerfile = read('Dockerfile');
  const bases = [...dockerfile.matchAll(/^FROM (\S+)/gm)].map(([, base]) => base);
  expect(new Set(bases)).toEqual(new Set(['${NODE_IMAGE}']));
  expect(dockerfile).toMatch(/^USER 1000:1000$/m);
  expect(dockerfile).toMatch(/^HEALTHCHECK [^]*\/readyz/m);
});

/** Copies what the last stage of the Dockerfile copies, from where the stages before it would have it. */
async function imageFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'laurel-image-'));
  const stage = read('Dockerfile')
    .split(/^FROM .*$/m)
    .at(-1)!;
  for (const [, source, target] of stage.matchAll(/^COPY (?:--from=\w+ )?(\S+) (\S+)$/gm)) {
    const from = join(PACKAGE_ROOT, source!.replace('/laurel/', ''));
    const to = join(folder, target === './' ? source! : target!);
    await mkdir(dirname(to), { recursive: true });
    // Hundreds of megabytes, of which the image has those of production.
    if (target === 'node_modules') await symlink(from, to);
    else await cp(from, to, { recursive: true });
  }
  const [, script] = /^RUN printf '(.*)' > \/usr\/local\/bin\/laurel /m.exec(stage)!;
  await writeFile(join(folder, 'laurel'), script!.replaceAll('\\n', '\n').replaceAll('/laurel/', `${folder}/`), {
    mode: 0o755,
  });
  return folder;
}

test('what the image contains suffices for the command line and for a start', async () => {
  const folder = await imageFolder();
  const env = { PATH: process.env['PATH'], NODE_ENV: 'production' };
  const output = (file: string, ...args: string[]) =>
    execFileSync(file, args, { cwd: folder, env, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });
  expect(output(join(folder, 'laurel'), '--version')).toBe(`${version()}\n`);
  expect(output(join(folder, 'laurel'), 'config', 'pull', '--help')).toContain('laurel config pull');
  // All modules load; then it says what it needs.
  expect(() => output(process.execPath, 'dist/src/main.js', 'http')).toThrow(/REDIS_URL/);
  await rm(folder, { recursive: true });
});

test('every package in the image is of the lock file', () => {
  const installs = read('Dockerfile').match(/npm \w+/g);
  expect(installs).toEqual(['npm ci', 'npm run', 'npm ci']);
});

interface Component {
  'bom-ref': string;
  version: string;
  purl: string;
  hashes?: { alg: string; content: string }[];
}

/** `npm sbom` came with npm 10; Debian 13 has npm 9. */
const HAS_SBOM = Number(execFileSync('npm', ['--version'], { encoding: 'utf8' }).split('.')[0]) >= 10;

test.skipIf(!HAS_SBOM)('npm run sbom lists every production package of the lock file, with its digest', () => {
  const { packages } = JSON.parse(read('package-lock.json')) as {
    packages: Record<string, { name?: string; version: string; dev?: boolean; integrity?: string }>;
  };
  const wanted = Object.entries(packages)
    .filter(([path, { dev }]) => path !== '' && dev !== true)
    .map(([path, { name, version, integrity }]) => ({
      purl: `pkg:npm/${(name ?? path.split('node_modules/').at(-1)!).replace('@', '%40')}@${version}`,
      hash: integrity === undefined ? undefined : Buffer.from(integrity.split('-')[1]!, 'base64').toString('hex'),
    }));
  const text = execFileSync('npm', ['run', '--silent', 'sbom'], { cwd: PACKAGE_ROOT, encoding: 'utf8' });
  const sbom = JSON.parse(text) as { components: Component[]; dependencies: { ref: string }[] } & object;
  expect(sbom).toMatchObject({ bomFormat: 'CycloneDX', specVersion: expect.stringMatching(/^1\.\d$/) });
  expect(sbom).toMatchObject({ metadata: { component: { 'bom-ref': expect.stringMatching(/^laurel@/) } } });
  const listed = new Map(sbom.components.map((component) => [component.purl, component]));
  expect(wanted.map(({ purl }) => purl).filter((purl) => !listed.has(purl))).toEqual([]);
  for (const { purl, hash } of wanted) {
    if (hash !== undefined) expect(listed.get(purl)!.hashes?.[0]?.content).toBe(hash);
  }
  expect([...listed.keys()].filter((purl) => !wanted.some((one) => one.purl === purl))).toEqual([]);
  const refs = new Set(sbom.dependencies.map(({ ref }) => ref));
  expect(sbom.components.filter((component) => !refs.has(component['bom-ref']))).toEqual([]);
});
