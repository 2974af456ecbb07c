import { describe, expect, test } from 'vitest';
import { parseTraceParent, traceParent } from '../../src/telemetry/trace-parent.ts';

const TRACE = '0af7651916cd43dd8448eb211c80319c';
const SPAN = 'b7ad6b7169203331';

describe('a traceparent header', () => {
  test.each([
    [`00-${TRACE}-${SPAN}-01`, 1],
    [`00-${TRACE}-${SPAN}-00`, 0],
    // Unknown flags are left out.
    [`00-${TRACE}-${SPAN}-03`, 1],
    [`cc-${TRACE}-${SPAN}-01`, 1],
    [`cc-${TRACE}-${SPAN}-01-what-comes`, 1],
  ])('%s is accepted', (header, traceFlags) => {
    expect(parseTraceParent(header)).toEqual({ traceId: TRACE, spanId: SPAN, traceFlags, isRemote: true });
  });

  test.each([
    '',
    'nonsense',
    `00-${TRACE}-${SPAN}`,
    `00-${TRACE}-${SPAN}-1`,
    `00-${TRACE}-${SPAN}-01-more`,
    `00-${TRACE}-${SPAN}-01 `,
    `cc-${TRACE}-${SPAN}-01.more`,
    `ff-${TRACE}-${SPAN}-01`,
    `00-${TRACE.toUpperCase()}-${SPAN}-01`,
    `00-${'0'.repeat(32)}-${SPAN}-01`,
    `00-${TRACE}-${'0'.repeat(16)}-01`,
    `00-${TRACE.slice(1)}-${SPAN}-01`,
  ])('"%s" is refused', (header) => expect(parseTraceParent(header)).toBeNull());

  test('is written as it was read', () => {
    const header = `00-${TRACE}-${SPAN}-01`;
    expect(traceParent(parseTraceParent(header)!)).toBe(header);
  });
});
