import type { Outcome } from './check.ts';

/** The results as a Markdown table, with their date. */
export function tableOf(outcomes: readonly Outcome[], now: Date): string {
  const rows = outcomes.map((outcome) => [
    `${outcome.system} (glibc ${outcome.glibc})`,
    outcome.node,
    outcome.httpServer,
    outcome.redis,
    outcome.startSeconds === 0 ? '' : `${outcome.startSeconds} s`,
    outcome.tests,
    outcome.problem === null ? 'works' : `fails: ${outcome.problem.split('\n')[0] ?? ''}`,
  ]);
  const head = ['System', 'Node', 'HTTP server', 'Redis or Valkey', 'Ready after', 'Tests', 'Outcome'];
  return [
    `Checked on ${now.toISOString().slice(0, 10)} by \`npm run machines\`.`,
    '',
    ...[head, head.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`),
  ].join('\n');
}
