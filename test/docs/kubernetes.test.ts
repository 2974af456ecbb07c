import { execFile } from 'node:child_process';
import { cp, mkdtemp, readFile, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { Deployment, type IDeployment } from 'kubernetes-models/apps/v1';
import { HorizontalPodAutoscaler, type IHorizontalPodAutoscaler } from 'kubernetes-models/autoscaling/v2';
import { Job, type IJob } from 'kubernetes-models/batch/v1';
import { Ingress, NetworkPolicy, type IIngress, type INetworkPolicy } from 'kubernetes-models/networking.k8s.io/v1';
import { PodDisruptionBudget, type IPodDisruptionBudget } from 'kubernetes-models/policy/v1';
import { ConfigMap, Secret, Service, type IConfigMap, type ISecret, type IService } from 'kubernetes-models/v1';
import { parseAllDocuments } from 'yaml';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { readEnv } from '../../src/settings/env.ts';
import { PACKAGE_ROOT } from '../../src/package-root.ts';
import { version } from '../../src/version.ts';
import { hasProgram } from '../stack/has-program.ts';

// The manifests, checked against the schemas of Kubernetes, and rendered where kubectl is installed: nothing here runs a cluster.
const run = promisify(execFile);
const FOLDER = join(PACKAGE_ROOT, 'ops/kubernetes');

/** Of the Prometheus operator. Its schema is not among the models. */
interface PodMonitor {
  apiVersion: 'monitoring.coreos.com/v1';
  kind: 'PodMonitor';
  metadata: { name: string; namespace?: string };
  spec: {
    selector: { matchLabels: Record<string, string> };
    podMetricsEndpoints: { port: string; path: string }[];
  };
}
type Modelled =
  | IConfigMap
  | IDeployment
  | IHorizontalPodAutoscaler
  | IIngress
  | IJob
  | INetworkPolicy
  | IPodDisruptionBudget
  | ISecret
  | IService;
type Manifest = Modelled | PodMonitor;
/** The model of each kind, and the module that has its type. */
const MODELS = {
  ConfigMap: [ConfigMap, 'v1'],
  Deployment: [Deployment, 'apps/v1'],
  HorizontalPodAutoscaler: [HorizontalPodAutoscaler, 'autoscaling/v2'],
  Ingress: [Ingress, 'networking.k8s.io/v1'],
  Job: [Job, 'batch/v1'],
  NetworkPolicy: [NetworkPolicy, 'networking.k8s.io/v1'],
  PodDisruptionBudget: [PodDisruptionBudget, 'policy/v1'],
  Secret: [Secret, 'v1'],
  Service: [Service, 'v1'],
} as const;

function parsed(name: string, text: string): Manifest[] {
  return parseAllDocuments(text).map((document) => {
    if (document.errors.length > 0) throw new Error(`${name}: ${document.errors.join('; ')}`);
    return document.toJS() as Manifest;
  });
}

/** The manifests of the base and the components. Kustomizations and their patches are checked by rendering them. */
const names = (await readdir(FOLDER, { recursive: true })).filter(
  (name) => name.endsWith('.yaml') && !/(kustomization|volume)\.yaml$/.test(name),
);
const manifests = (
  await Promise.all(names.map(async (name) => parsed(name, await readFile(join(FOLDER, name), 'utf8'))))
).flat();
const only = <K extends Manifest['kind']>(all: readonly Manifest[], kind: K) =>
  all.filter((one): one is Extract<Manifest, { kind: K }> => one.kind === kind);
const ofKind = <K extends Manifest['kind']>(kind: K) => only(manifests, kind);
const modelled = (all: readonly Manifest[]): Modelled[] =>
  all.filter((one): one is Modelled => one.kind !== 'PodMonitor');

function expectValid(all: readonly Manifest[]): void {
  for (const manifest of modelled(all)) {
    const Model = MODELS[manifest.kind][0] as new (data: Manifest) => { validate: () => void };
    expect(() => new Model(manifest).validate()).not.toThrow();
  }
}

test('every manifest fits the schema of its kind', () => {
  expect(manifests.map(({ kind }) => kind).toSorted()).toEqual([
    'Deployment',
    'Deployment',
    'HorizontalPodAutoscaler',
    'Ingress',
    'Job',
    'NetworkPolicy',
    'PodDisruptionBudget',
    'PodDisruptionBudget',
    'PodMonitor',
    'PodMonitor',
    'Service',
    'Service',
  ]);
  expectValid(manifests);
});

/** Checks manifests against the types of their kinds, which, unlike the schemas, know every field. Returns the compiler's words. */
async function typeErrors(checked: readonly Modelled[]): Promise<string> {
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
  expect(await typeErrors(modelled(manifests))).toBe('');
  const [budget] = ofKind('PodDisruptionBudget');
  const misspelt = { ...budget!, spec: { maxUnavailible: 1 } } as unknown as Modelled;
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
    enableServiceLinks: false,
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

test('the admin port is reached while no frontend is ready, the application port is not', () => {
  expect(ofKind('Service').map(({ spec }) => spec!.publishNotReadyAddresses ?? false)).toEqual([false, true]);
});

test('Laurel refuses the variables by which Kubernetes would announce its services, so they are switched off', () => {
  for (const { metadata } of ofKind('Service')) {
    const variable = `${metadata!.name!.toUpperCase().replaceAll('-', '_')}_SERVICE_HOST`;
    expect(() => readEnv({ [variable]: '10.0.0.1' })).toThrow(variable);
  }
});

test('a job migrates, with the image, settings and rights of the frontends, and is not in their services', () => {
  const [job] = ofKind('Job');
  const { metadata, spec } = job!.spec!.template;
  const container = spec!.containers[0]!;
  const [frontends] = pods;
  expect(container.command).toEqual(['laurel', 'migrate']);
  for (const field of ['image', 'envFrom', 'securityContext', 'volumeMounts'] as const)
    expect(container[field]).toEqual(frontends!.container[field]);
  for (const field of ['securityContext', 'automountServiceAccountToken', 'enableServiceLinks', 'volumes'] as const)
    expect(spec![field]).toEqual(frontends!.spec[field]);
  const selectors = ofKind('Service').map((one) => one.spec!.selector!);
  for (const selector of selectors) expect(metadata!.labels).not.toMatchObject(selector);
});

test('the ingress leads to the application port only, without buffering and with a longer silence than a heartbeat', () => {
  const [ingress] = ofKind('Ingress');
  const backends = ingress!.spec!.rules!.flatMap(({ http }) => http!.paths.map(({ backend }) => backend.service));
  expect(backends).toEqual([{ name: 'laurel', port: { name: 'application' } }]);
  const setting = (name: string): string => ingress!.metadata!.annotations![`nginx.ingress.kubernetes.io/${name}`]!;
  expect(setting('proxy-buffering')).toBe('off');
  expect(Number(setting('proxy-read-timeout'))).toBeGreaterThan(25);
  expect(setting('proxy-body-size')).toBe(`${readEnv({}).bodyLimitBytes / 2 ** 20}m`);
});

test('the autoscaler changes the frontends, whose pods request processors', () => {
  const { scaleTargetRef, minReplicas } = ofKind('HorizontalPodAutoscaler')[0]!.spec!;
  const frontends = pods.find(({ name }) => name === scaleTargetRef.name)!;
  expect([frontends.replicas, frontends.container.resources!.requests!['cpu']]).toEqual([minReplicas, '500m']);
});

test('the monitors read the metrics of every pod', () => {
  const monitored = ofKind('PodMonitor').map(({ spec }) => {
    const [name] = selected(spec.selector.matchLabels);
    const [{ port, path }] = spec.podMetricsEndpoints as [{ port: string; path: string }];
    return [name, pods.find((pod) => pod.name === name)!.container.ports!.some((one) => one.name === port), path];
  });
  expect(new Set(monitored)).toEqual(new Set(pods.map(({ name }) => [name, true, '/metrics'])));
});

const DOCS = await readFile(join(PACKAGE_ROOT, 'docs/operating/kubernetes.md'), 'utf8');
/** The file of secrets that the docs write, with a key in place of the command. */
const SECRET_ENV = /cat > secret\.env <<END\n([^]*?)\n *END\n/
  .exec(DOCS)![1]!
  .replaceAll(/^ +/gm, '')
  .replace('$(openssl rand -hex 32)', 'ab'.repeat(32))
  .replace('$(openssl rand -base64 32)', Buffer.alloc(32, 7).toString('base64'));

test('the settings are what Laurel takes, and no password is among them', async () => {
  const read = (text: string): Record<string, string> =>
    Object.fromEntries(
      text
        .split('\n')
        .filter((line) => /^\w/.test(line))
        .map((line) => [line.slice(0, line.indexOf('=')), line.slice(line.indexOf('=') + 1)]),
    );
  const settings = read(await readFile(join(FOLDER, 'base/configuration.env'), 'utf8'));
  const secrets = read(SECRET_ENV);
  expect(Object.keys(secrets)).toEqual(['REDIS_URL', 'DATABASE_URL', 'ADMIN_API_KEY', 'SECRETS_KEY']);
  expect(Object.keys(settings).filter((name) => name in secrets || /KEY|PASSWORD/.test(name))).toEqual([]);
  expect(readEnv({ ...settings, ...secrets })).toMatchObject({
    production: true,
    adminHost: '0.0.0.0',
    metricsPort: 9464,
    httpProcesses: 1,
    migrateAtStart: false,
  });
});

const hasKubectl = await hasProgram('kubectl');
if (!hasKubectl) console.log('There is no kubectl: tests of the rendered manifests are left out.');

describe.skipIf(!hasKubectl)('the rendered example', () => {
  let folder: string;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'laurel-kubernetes-'));
    await cp(FOLDER, folder, { recursive: true });
    await writeFile(join(folder, 'example/secret.env'), `${SECRET_ENV}\n`);
    for (const name of ['redis.pem', 'postgres.pem']) await writeFile(join(folder, 'example', name), 'a certificate');
  });
  afterAll(() => rm(folder, { recursive: true }));

  async function render(overlay = 'example'): Promise<Manifest[]> {
    const all = parsed(overlay, (await run('kubectl', ['kustomize', join(folder, overlay)])).stdout);
    // Kustomize breaks long values into lines, which Kubernetes ignores and the schema does not know.
    for (const { data } of only(all, 'Secret'))
      for (const [name, value] of Object.entries(data!)) data![name] = value.replaceAll('\n', '');
    return all;
  }
  /** The pods' templates, by the name of the deployment or job. */
  const templates = (all: readonly Manifest[]) =>
    new Map(
      [...only(all, 'Deployment'), ...only(all, 'Job')].map(({ metadata, spec }) => [
        metadata!.name!,
        spec!.template.spec!,
      ]),
    );

  test('fits the schemas and has every component', async () => {
    const all = await render();
    expectValid(all);
    expect(await typeErrors(modelled(all))).toBe('');
    expect(all.map(({ metadata }) => metadata!.namespace)).toEqual(all.map(() => 'laurel'));
    const replicas = only(all, 'Deployment').map(({ metadata, spec }) => [metadata!.name, spec!.replicas]);
    expect(Object.fromEntries(replicas)).toEqual({ 'laurel-frontends': undefined, 'laurel-workers': 2 });
    expect(only(all, 'Ingress')[0]!.spec!.rules![0]!.host).toBe('rewards.example.org');
    const certificates = only(all, 'ConfigMap').find(({ data }) => data!['redis.pem'] !== undefined)!;
    for (const spec of templates(all).values()) {
      expect(spec.containers[0]!.image).toBe('registry.example.org/laurel:1.0.0');
      expect(spec.volumes).toContainEqual({ name: 'certificates', configMap: { name: certificates.metadata!.name } });
      expect(spec.containers[0]!.volumeMounts).toContainEqual(expect.objectContaining({ name: 'certificates' }));
    }
  });

  test('a changed setting and a changed secret change the template of every pod, so pods restart', async () => {
    const before = templates(await render());
    for (const [file, from, to] of [
      ['base/configuration.env', 'LOG_LEVEL=info', 'LOG_LEVEL=debug'],
      ['example/secret.env', 'redis.example.org', 'other.example.org'],
    ] as const) {
      const path = join(folder, file);
      const text = await readFile(path, 'utf8');
      expect(text).toContain(from);
      await writeFile(path, text.replace(from, to));
      const after = templates(await render());
      expect([...after.keys()]).toEqual([...before.keys()]);
      for (const [name, spec] of after) expect(spec).not.toEqual(before.get(name));
      await writeFile(path, text);
    }
    expect(templates(await render())).toEqual(before);
  });

  test('works without the components', async () => {
    const all = await render('base');
    expect(only(all, 'Deployment').map(({ spec }) => spec!.replicas)).toEqual([2, 2]);
    expect(all.map(({ kind }) => kind)).not.toContain('PodMonitor');
  });
});
