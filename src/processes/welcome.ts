import type { Env } from '../env.ts';
import type { Prepared } from './first-start.ts';

/** What the screen shows when everything runs: addresses, the first key (once), a call to try. */
export function welcome({ env, prepared }: { env: Env; prepared: Prepared }): string {
  const app = `http://${shown(env.host)}:${env.appPort}`;
  const admin = `http://${shown(env.adminHost)}:${env.adminPort}`;
  const lines = ['', 'Laurel is running.', `  Application API  ${app}`, `  Admin API        ${admin}`];
  if (prepared.signInToken !== null)
    lines.push(
      '',
      `  Console          ${admin}/console#token=${prepared.signInToken}`,
      '                   Signs you in once, within 15 minutes.',
    );
  const key = prepared.newKey ?? '$ADMIN_KEY';
  if (prepared.newKey !== null) {
    lines.push('', ...keyLines(prepared.newKey));
  }
  if (prepared.metricToTry !== null) {
    const known = prepared.newKey === null ? ', with the admin key in ADMIN_KEY' : '';
    lines.push(
      '',
      `Submit an event${known}:`,
      '',
      `  curl -sS -X POST ${app}/v1/metrics/${prepared.metricToTry}/event \\`,
      `    -H "X-API-KEY: ${key}" -H "Content-Type: application/json" \\`,
      `    -d '{"user":{"id":"ada","name":"Ada","tz":"Europe/London"},"value":12}'`,
    );
  }
  if (prepared.demo) {
    lines.push(
      '',
      'What is configured is a demo. `npx laurel config push <file>` offers to remove it; a first start with',
      'LAUREL_DEMO=0 leaves it out.',
    );
  } else if (prepared.metricToTry === null && !env.production) {
    lines.push(
      '',
      'No metric is configured yet: docs/configuration.md has an example for `npx laurel config push <file>`.',
    );
  }
  return [...lines, '', 'Ctrl-C ends it.', ''].join('\n');
}

const keyLines = (key: string): string[] => [
  `  Admin key        ${key}`,
  '                   Shown this once: keep it.',
];

/** What a start says that made the first key and then failed: the next start finds the key stored, and cannot show it. */
export const keyOfFailedStart = (key: string): string => ['', ...keyLines(key), ''].join('\n');

/** A host as a URL names it, one that opens on this machine. */
const shown = (host: string): string => (isEverywhere(host) ? 'localhost' : host.includes(':') ? `[${host}]` : host);

const isEverywhere = (host: string): boolean => ['0.0.0.0', '::', '127.0.0.1', '::1'].includes(host);
