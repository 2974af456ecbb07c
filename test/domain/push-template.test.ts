import { describe, expect, test } from 'vitest';
import {
  attributesInPush,
  pushTemplateProblems,
  renderPush,
  type PushTemplate,
} from '../../src/domain/notifications/push-template.ts';

const TEMPLATE: PushTemplate = { title: 'Hello {{user.name|you}}', body: 'Your streak: {{streak.length}}' };
const of = { kind: 'streak_reminder', attributeKeys: new Set(['plan']) } as const;
const problems = (changes: Partial<PushTemplate>) =>
  pushTemplateProblems({ ...TEMPLATE, ...changes }, of).map(({ field, text }) => `${field}: ${text}`);

describe('a template', () => {
  test.each([
    'https://app.example.com',
    'https://app.example.com/{{user.id}}',
    'https://app.example.com?plan={{user.attributes.plan|none}}',
    'myapp://streak/{{user.id}}',
    'com.example.app://x',
  ])('may open %s', (url) => {
    expect(problems({ url })).toEqual([]);
  });

  test.each([
    'http://app.example.com',
    'https://{{user.name}}.example.com',
    'https://app.example.com{{user.name}}',
    '{{user.name}}://x',
    'javascript://x',
    'JavaScript://%0aalert(1)',
    'data://x',
    'intent://x',
    'file:///etc/passwd',
    '/streak',
    'https://app.example.com/a b',
    'https:///x',
  ])('may not open %s', (url) => {
    expect(problems({ url })).toEqual([expect.stringMatching(/^url: must begin/)]);
  });

  test('names its problems', () => {
    expect(problems({ title: '', body: '{{recap.periodEnd}} {{' })).toEqual([
      'title: must not be empty',
      "body: 'recap.periodEnd' is no variable of streak_reminder",
      "body: has '{{' or '}}' that belongs to no variable",
    ]);
    expect(problems({ title: 'a\nb' })).toEqual(['title: must be one line']);
    expect(problems({ body: '{{ unsubscribeUrl }}' })).toEqual([
      "body: 'unsubscribeUrl' is no variable of push notifications",
    ]);
    expect(problems({ body: 'x'.repeat(1_001) })).toEqual(['body: may have at most 1000 characters']);
    expect([...attributesInPush({ ...TEMPLATE, url: 'a://{{user.attributes.plan}}' })]).toEqual(['plan']);
  });
});

describe('a message', () => {
  const render = (template: Partial<PushTemplate>, name: string) =>
    renderPush({ ...TEMPLATE, ...template }, { user: { name }, streak: { length: 5 } });

  test('has values as text, and fallbacks', () => {
    expect(render({ url: 'https://a.example/{{user.name}}' }, '<b>\n../?x')).toEqual({
      title: 'Hello <b> ../?x',
      body: 'Your streak: 5',
      url: 'https://a.example/%3Cb%3E%0A..%2F%3Fx',
    });
    expect(render({}, '')).toMatchObject({ title: 'Hello you', url: null });
  });

  test('fits the providers, however long the values are', () => {
    const { title, body, url } = render(
      { body: '{{user.name}}', url: 'https://a.example/{{user.name}}' },
      '語😀'.repeat(2_000),
    );
    expect(Buffer.byteLength(title)).toBeLessThanOrEqual(400);
    expect(Buffer.byteLength(body)).toBeLessThanOrEqual(1_600);
    expect(body).toMatch(/^(語😀)*語?…$/u);
    expect(url).toBeNull();
  });
});
