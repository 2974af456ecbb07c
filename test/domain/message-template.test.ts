import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  type MessageTemplate,
  renderMessage,
  templateProblems,
} from '../../src/domain/notifications/message-template.ts';

const TEMPLATE: MessageTemplate = {
  subject: 'Keep it up, {{user.name|there}}: {{streak.length}} days',
  text: 'Hello {{user.name|there}}, {{user.attributes.plan|free}}. {{unsubscribeUrl}}',
  html:
    '<p title="{{user.name|you}}">Hello {{user.name|there}}</p>' +
    '<a href="https://app.example.org/u?name={{user.name}}#{{user.id}}">Play</a><a href="{{unsubscribeUrl}}">Stop</a>',
};
const OF = { kind: 'streak_reminder', attributeKeys: new Set(['plan']) } as const;
const UNSUBSCRIBE = 'https://laurel.example.org/v1/unsubscribe?token=a.b';

const figures = (user: object) => ({
  payload: { user: { id: 'u1', name: null, attributes: {}, ...user }, streak: { length: 5 } },
  unsubscribeUrl: UNSUBSCRIBE,
});
const problems = (changes: Partial<MessageTemplate>): string[] =>
  templateProblems({ ...TEMPLATE, ...changes }, OF).map(({ field, text }) => `${field}: ${text}`);
/** HTML with the required link. */
const html = (source: string): string[] => problems({ html: `${source}<a href="{{unsubscribeUrl}}">Stop</a>` });

describe('rendering', () => {
  it('inserts values and fallbacks', () => {
    expect(renderMessage(TEMPLATE, figures({ name: 'Ada', attributes: { plan: 'pro' } }))).toEqual({
      subject: 'Keep it up, Ada: 5 days',
      text: `Hello Ada, pro. ${UNSUBSCRIBE}`,
      html:
        '<p title="Ada">Hello Ada</p><a href="https://app.example.org/u?name=Ada#u1">Play</a>' +
        `<a href="${UNSUBSCRIBE}">Stop</a>`,
    });
    const { subject, text } = renderMessage(TEMPLATE, figures({}));
    expect([subject, text]).toEqual(['Keep it up, there: 5 days', `Hello there, free. ${UNSUBSCRIBE}`]);
  });

  it('keeps hostile values as text', () => {
    const name = `"><script>alert(1)</script>\r\nBcc: all@example.org {{user.id}}`;
    const rendered = renderMessage(TEMPLATE, figures({ name }));
    expect(rendered.subject).toBe('Keep it up, "><script>alert(1)</script> Bcc: all@example.org {{user.id}}: 5 days');
    expect(rendered.html).not.toContain('<script');
    expect(rendered.html).toContain('name=%22%3E%3Cscript%3E');
    // A value is not a template.
    expect(rendered.text).toContain('{{user.id}}');
  });

  it('makes no element, attribute, line or host of any value', () => {
    const skeleton = (text: string): string[] => text.match(/<[^>]*>/g)!.map((tag) => tag.replaceAll(/"[^"]*"/g, '""'));
    const plain = skeleton(renderMessage(TEMPLATE, figures({ name: 'Ada' })).html);
    fc.assert(
      fc.property(
        fc.oneof(
          fc.string({ unit: 'binary' }),
          fc.string({ unit: fc.constantFrom('<', '>', '"', "'", '&', '=', '/', ' ', ':', '\r', '\n', '\u2028', 'a') }),
        ),
        (name) => {
          const rendered = renderMessage(TEMPLATE, figures({ name }));
          expect(skeleton(rendered.html)).toEqual(plain);
          expect(rendered.subject).not.toMatch(/[\r\n\u2028\u2029\0]/);
          const [, link = ''] = /href="([^"]*)"/.exec(rendered.html)!;
          expect(new URL(link).origin).toBe('https://app.example.org');
        },
      ),
    );
  });

  it('leaves out a badge that is not https', () => {
    const template = { ...TEMPLATE, html: '<img src="{{achievement.badgeUrl}}">' };
    const withBadge = (badgeUrl: string): string =>
      renderMessage(template, { payload: { achievement: { badgeUrl } }, unsubscribeUrl: '' }).html;
    expect(withBadge('https://example.org/a.png?x="')).toBe('<img src="https://example.org/a.png?x=%22">');
    for (const url of ['javascript:alert(1)', 'http://example.org/a.png', 'data:text/html,x', '//example.org', ''])
      expect(withBadge(url)).toBe('<img src="">');
  });

  it('reads no property that the payload does not have itself', () => {
    const template = { ...TEMPLATE, text: '{{user.attributes.constructor|none}}{{user.attributes.a.b|none}}' };
    expect(renderMessage(template, figures({ attributes: { 'a.b': 'dots' } })).text).toBe('nonedots');
  });
});

describe('the cost', () => {
  /** Quadratic work on these takes more than 3 s. */
  const LENGTH = 60_000;
  /** Of CPU: others use the machine, too. */
  const MOST_MS = 1_500;
  const usedMs = (): number => (process.cpuUsage().user + process.cpuUsage().system) / 1_000;
  const CHARACTERS = ['<', '>', '"', "'", 'a', ' ', '=', '/', '{', '|', '}'];
  const units = [
    ...CHARACTERS,
    ...CHARACTERS.flatMap((one) => CHARACTERS.map((other) => one + other)),
    '<"\'',
    '<"<\'',
    '<"x\'',
    ' a="',
    " a='",
    '{{a',
    '{{a|b',
    '<a b="{{',
    '<a {{',
    '&<"',
  ];

  it.each(['', '<a ', '<a "', "<a '", '<a b="', '{{'])('is linear after %o', (start) => {
    for (const unit of units) {
      const source = (start + unit.repeat(LENGTH)).slice(0, LENGTH);
      const template = { subject: source.slice(0, 255), text: source.slice(0, 20_000), html: source };
      const beganMs = usedMs();
      expect(templateProblems(template, OF)).not.toEqual([]);
      renderMessage(template, figures({}));
      expect({ unit, isSlow: usedMs() - beganMs >= MOST_MS }).toEqual({ unit, isSlow: false });
    }
  });

  it('is linear in nested beginnings of tags, drawn at random', () => {
    fc.assert(
      fc.property(
        fc.string({ unit: fc.constantFrom('<', '"', "'", 'a', ' ', '='), minLength: 1, maxLength: 12 }),
        (unit) => {
          const source = unit.repeat(LENGTH / unit.length);
          const beganMs = usedMs();
          templateProblems({ ...TEMPLATE, html: source }, OF);
          renderMessage({ ...TEMPLATE, html: source }, figures({}));
          expect(usedMs() - beganMs).toBeLessThan(MOST_MS);
        },
      ),
      { numRuns: 200 },
    );
  });

  it('of a message about a long name is small', () => {
    const [problem] = problems({ html: `{{${'x'.repeat(90_000)}}}<a href="{{unsubscribeUrl}}">Stop</a>` });
    expect(problem).toBe(`html: '${'x'.repeat(60)}…' is no variable of streak_reminder`);
  });
});

describe('problems', () => {
  it('accepts a template', () => expect(problems({})).toEqual([]));

  it.each([
    [{ subject: '{{user.nmae}}' }, "subject: 'user.nmae' is no variable of streak_reminder"],
    [{ subject: '{{recap.periodEnd}}' }, "subject: 'recap.periodEnd' is no variable of streak_reminder"],
    [{ subject: '{{user.attributes.city}}' }, "subject: 'user.attributes.city' is no variable of streak_reminder"],
    [{ subject: '{{user.name' }, "subject: has '{{' or '}}' that belongs to no variable"],
    [{ subject: ' ' }, 'subject: must not be empty'],
    [{ subject: 'a\nb' }, 'subject: must be one line'],
    [{ subject: 'a'.repeat(256) }, 'subject: may have at most 255 characters'],
    [{ text: 'Hello' }, 'text: must contain {{unsubscribeUrl}}'],
    [{ html: '<p>Hello</p>' }, 'html: must contain {{unsubscribeUrl}}'],
  ])('%o', (changes, problem) => expect(problems(changes)).toEqual([problem]));

  it.each([
    '<a href="http://example.org/">',
    '<a href="javascript:alert(1)">',
    '<a href=" https://example.org/">',
    '<a href="https://{{user.name}}.example.org/">',
    '<a href="https://example.org{{user.name}}/">',
    '<a href="{{user.name}}">',
    '<a href="{{unsubscribeUrl|javascript:alert(1)}}">',
    '<a href={{unsubscribeUrl}}>',
    '<a title="x"href="javascript:alert(1)">',
    '<a/href="javascript:alert(1)">',
    '<p class="{{user.name}}">',
    '<p style="color:{{user.name}}">',
    '<p style="background:url(https://example.org/a)">',
    '<p onclick="alert(1)">',
    '<p {{user.name}}>',
    '<script>alert(1)</script>',
    '<SCRIPT src="https://example.org/a.js"></SCRIPT>',
    '<form action="https://example.org/">',
    '<meta http-equiv="refresh" content="0">',
    '<!-- {{user.name}} -->',
    '<p title="{{user.name}}',
    'a < b',
    '<img srcset="https://example.org/a">',
  ])('refuses %s', (source) => expect(html(source)).not.toEqual([]));
});
