import { join } from 'node:path';
import { expect, test } from 'vitest';
import { ERRORS } from '../../src/errors.ts';
import { PACKAGE_ROOT } from '../../src/package-root.ts';

const INTRODUCTION = `# Errors

<!-- Made from the table in src/errors.ts. After a change: npx vitest run test/docs/errors.test.ts -u -->

Every answer with a status of 400 or above has a JSON body:

\`\`\`json
{
  "error": "Unknown metric: there is none with the key 'flip'. An unknown metric is 422 for a single event and 404 in a batch.",
  "code": "unprocessable",
  "hint": "Did you mean 'flips'?"
}
\`\`\`

- \`error\` is for a person. Its text may change.
- \`code\` is stable: branch on it, or on the status. There may be more codes later, so treat one that you do not know as its status.
- \`hint\` is there where something may help: the other port, the right header, a similar key, the position of a fault in JSON. It is
  for a person too, and contains no secret and nothing of another tenant.

Bulk operations of the Admin API report what is wrong with an item in \`issues\`, and a batch with \`?wait=true\` reports \`status\` and
\`error\` of each event; neither has a \`code\`.
`;

/** As the formatter writes a table. */
function table(rows: readonly (readonly string[])[]): string {
  const widths = rows[0]!.map((_, column) => Math.max(...rows.map((row) => row[column]!.length)));
  const line = (row: readonly string[]): string =>
    `| ${row.map((cell, column) => cell.padEnd(widths[column]!)).join(' | ')} |`;
  const [head, ...others] = rows.map(line);
  return [head, `| ${widths.map((width) => '-'.repeat(width)).join(' | ')} |`, ...others].join('\n');
}

test('docs/errors.md equals the page generated from the table of errors', async () => {
  const rows = Object.entries(ERRORS).map(([code, { status, title, remedy }]) => [
    `\`${code}\``,
    String(status),
    title,
    remedy,
  ]);
  const page = `${INTRODUCTION}\n${table([['Code', 'Status', 'What happened', 'What to do'], ...rows])}\n`;
  await expect(page).toMatchFileSnapshot(join(PACKAGE_ROOT, 'docs/errors.md'));
});
