import { execFile } from 'node:child_process';
import { mkdtemp, readFile, readdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { Deployment, type IDeployment } from 'kubernetes-models/apps/v1';
import { NetworkPolicy, type INetworkPolicy } from 'kubernetes-models/networking.k8s.io/v1';
import { PodDisruptionBudget, type IPodDisruptionBudget } from 'kubernetes-models/policy/v1';
import { ConfigMap, Service, type IConfigMap, type IService } from 'kubernetes-models/v1';
import { parseAllDocuments } from 'yaml';
import { expect, test } from 'vitest';
import { readEnv } from '../../src/env.ts';
import { PACKAGE_ROOT } from '../../src/package-root.ts';
import { version } from '../../src/version.ts';

// The manifests, checked against the schemas of Kubernetes: nothing here runs a cluster.
const run = promisify(execFile);
const FOLDER = join(PACKAGE_ROOT, 'ops/kubernetes');

type Manifest = IConfigMap | IDeployment | INetworkPolicy | IPodDisruptionBudget | IService;
/** The model of each kind, and the module that has its type. */
const MODELS = {
  ConfigMap: [ConfigMap, 'v1'],
  Deployment: [Deployment, 'apps/v1'],
  NetworkPolicy: [NetworkPolicy, 'networking.k8s.io/v1'],
  PodDisruptionBudget: [PodDisruptionBudget, 'policy/v1'],
  Service: [Service, 'v1'],
} as const;

const files = await Promise.all(
  (await readdir(FOLDER)).map(async (name) => ({ name, text: await readFile(join(FOLDER, name), 'utf8') })),
);
const manifests = files.flatMap(({ name, text }) =>
  parseAllDocuments(text).map((document) => {
    if (document.errors.length > 0) throw new Error(`${name}: ${document.errors.join('; ')}`);
    return document.toJS() as Manifest;
  }),
);
const ofKind = <K extends Manifest['kind']>(kind: K) =>
  manifests.filter((one): one is Extract<Manifest, { kind: K }> => one.kind === kind);

test('every manifest fits the schema of its kind', () => {
  expect(manifests.map(({ kind }) => kind).toSorted()).toEqual([
    'ConfigMap',
    'Deployment',
    'Deployment',
    'NetworkPolicy',
    'PodDisruptionBudget',
    'PodDisruptionBudget',
    'Service',
    'Service',
  ]);
  for (const manifest of manifests) {
    const Model = MODELS[manifest.kind][0] as new (data: Manifest) => { validate: () => void };
    expect(() => new Model(manifest).validate()).not.toThrow();
  }
});

/** Checks manifests against the types of their kinds, which, unlike the schemas, know every field. Returns the compiler's words. */
async function typeErrors(checked: readonly Manifest[]): Promise<string> {
  // In the package, so that the types are found.
  const folder = await mkdtemp(join(PACKAGE_ROOT, 'node_modules/.kubernetes-'));
  const lines = checked.map(
    (one, index) =>
      `import type { I${one.kind} as T${index} } from 'kubernetes-models/${MODELS[one.kind][1]}';\n` +
      `export const m${index}: T${index} = ${JSON.stringify(one)};`,
  );
  const file = join(folder, 'manifests.ts');
  await writeFile(file, lines.join('\n'));
  const options = ['--noEmit', '--strict', '--skipLibCheck', '--types', '', '--module', 'nodenext', '--ignoreConfig'];
  const tsc = join(PACKAGE_ROOT, 'node_modules/typescript/bin/tsc');
  const { stdout } = await run(process.execPath, [tsc, ...options, file]).catch((error: { stdout: string }) => error);
  await rm(folder, { recursive: true });
  return stdout;
}

test('no manifest has a field that Kubernetes does not know', async () => {
  expect(await typeErrors(manifests)).toBe('');
  const [budget] = ofKind('PodDisruptionBudget');
  const misspelt = { ...budget!, spec: { maxUnavailible: 1 } } as unknown as Manifest;
  expect(await typeErrors([misspelt])).toContain('maxUnavailible');
});

const pods = ofKind('Deployment').map(({ metadata, spec }) => ({
  name: metadata!.name!,
  replicas: spec!.replicas!,
  labels: spec!.template.metadata!.labels!,
  selector: spec!.selector.matchLabels,
  spec: spec!.template.spec!,
  container: spec!.template.spec!.containers[0]!,
}));
const selected = (selector: Record<string, string> | undefined): string[] =>
  pods
    .filter(({ labels }) => Object.entries(selector ?? {}).every(([name, value]) => labels[name] === value))
    .map(({ name }) => name);

test.each(pods)('$name: several pods without privileges, with probes and a disruption budget', (pod) => {
  expect(pod.replicas).toBeGreaterThan(1);
  expect(selected(pod.selector)).toEqual([pod.name]);
  expect(pod.container.image).toBe(`laurel:${version()}`);
  expect(pod.spec).toMatchObject({
    automountServiceAccountToken: false,
    securityContext: { runAsNonRoot: true, runAsUser: 1000, seccompProfile: { type: 'RuntimeDefault' } },
  });
  expect(pod.container).toMatchObject({
    securityContext: {
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ['ALL'] },
    },
    envFrom: [{ configMapRef: { name: 'laurel' } }, { secretRef: { name: 'laurel' } }],
    volumeMounts: [{ mountPath: '/tmp' }],
    resources: { limits: { memory: '1Gi' } },
    // A restart helps a process that does not answer; it does not help one that waits for Redis.
    startupProbe: { httpGet: { path: '/healthz' } },
    livenessProbe: { httpGet: { path: '/healthz' } },
  });
  const ports = pod.container.ports!.map(({ name }) => name);
  for (const probe of ['startupProbe', 'livenessProbe', 'readinessProbe'] as const)
    if (pod.container[probe]) expect(ports).toContain(pod.container[probe].httpGet!.port);
  const budgets = ofKind('PodDisruptionBudget').filter(({ spec }) =>
    selected(spec!.selector?.matchLabels).includes(pod.name),
  );
  expect(budgets.map(({ spec }) => spec!.maxUnavailable)).toEqual([1]);
});

test('frontends take requests only while they are ready, through two services', () => {
  const frontends = pods.find(({ name }) => name === 'laurel-frontends')!;
  expect(frontends.container.args).toEqual(['http']);
  expect(frontends.container.readinessProbe).toMatchObject({ httpGet: { path: '/readyz', port: 'application' } });
  expect(pods.find(({ name }) => name === 'laurel-workers')!.container.args).toEqual(['workers']);
  for (const { spec } of ofKind('Service')) {
    expect(selected(spec!.selector)).toEqual(['laurel-frontends']);
    expect(spec!.type).toBeUndefined();
  }
  expect(ofKind('Service').map(({ metadata, spec }) => [metadata!.name, spec!.ports![0]!.targetPort])).toEqual([
    ['laurel', 'application'],
    ['laurel-admin', 'admin'],
  ]);
});

test('only pods of namespaces with a label reach the admin port', () => {
  const [policy] = ofKind('NetworkPolicy');
  expect(policy!.spec!.podSelector!.matchLabels).toEqual({ 'app.kubernetes.io/name': 'laurel' });
  const open = policy!.spec!.ingress!.filter(({ from }) => from === undefined);
  expect(open.flatMap(({ ports }) => ports!.map(({ port }) => port))).toEqual(['application']);
});

test('the settings are what Laurel takes, and no password is among them', async () => {
  const [settings] = ofKind('ConfigMap');
  const text = await readFile(join(PACKAGE_ROOT, 'docs/operating/kubernetes.md'), 'utf8');
  const secrets = [...text.matchAll(/--from-literal=(\w+)=/g)].map(([, name]) => name!);
  expect(secrets).toEqual(['REDIS_URL', 'DATABASE_URL', 'ADMIN_API_KEY']);
  expect(Object.keys(settings!.data!).filter((name) => secrets.includes(name) || /KEY|PASSWORD/.test(name))).toEqual(
    [],
  );
  const [, adminKey] = /--from-literal=ADMIN_API_KEY="(.*)"/.exec(text)!;
  const env = readEnv({
    ...settings!.data,
    ADMIN_API_KEY: adminKey!.replace('$(openssl rand -hex 32)', 'ab'.repeat(32)),
    REDIS_URL: 'redis://redis:6379',
    DATABASE_URL: 'postgres://laurel@postgres:5432/laurel',
  });
  expect(env).toMatchObject({ production: true, adminHost: '0.0.0.0', metricsPort: 9464, httpProcesses: 1 });
});
