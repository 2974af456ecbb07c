/** Templates to begin with, in the look of the organisation's app. */
// oxlint-disable-next-line no-restricted-imports -- the escaping of the templates' rules
import { escapeHtml } from '../../../../src/domain/notifications/message-html.ts';
// oxlint-disable-next-line no-restricted-imports -- a type that the API does not name
import type { MessageTemplate } from '../../../../src/domain/notifications/message-template.ts';
// oxlint-disable-next-line no-restricted-imports -- likewise
import type { PushTemplate } from '../../../../src/domain/notifications/push-template.ts';
import type { Kind } from './words.ts';

/** The branding of the settings. */
export interface Look {
  appName: string;
  appUrl: string;
  brandColor: string;
}

/** Stands for the address of the app until somebody writes it. */
export const PLACEHOLDER_URL = 'https://app.example.com/';

interface Words {
  subject: string;
  title: string;
  lines: readonly string[];
  button: string;
  /** The text of the link to unsubscribe. */
  stop: string;
}

const WORDS: Readonly<Record<Kind, Words>> = {
  streak_reminder: {
    subject: '{{user.name|Hello}}, keep your streak of {{streak.length}}',
    title: 'Your streak of {{streak.length}} ends soon',
    lines: ['Hello {{user.name|there}}, a few minutes are enough to keep it.'],
    button: 'Keep my streak',
    stop: 'No more reminders',
  },
  achievement_completed: {
    subject: 'Well done: {{achievement.name}}',
    title: '{{achievement.name}}',
    lines: [
      'Congratulations, {{user.name|you did it}}! You completed this achievement.',
      '{{achievement.description}}',
    ],
    button: 'See what is next',
    stop: 'No more e-mails about achievements',
  },
  reactivation: {
    subject: '{{user.name|Hello}}, we miss you',
    title: 'Ready to go on?',
    lines: [
      'Hello {{user.name|there}}, you were last here {{reactivation.daysSinceLastActive}} days ago.',
      'Everything is where you left it.',
    ],
    button: 'Go on',
    stop: 'No more such e-mails',
  },
  recap: {
    subject: 'Your recap: {{recap.periodStart}} to {{recap.periodEnd}}',
    title: 'You were active',
    lines: [
      'Hello {{user.name|there}}, thank you for being with us between {{recap.periodStart}} and {{recap.periodEnd}}.',
      'Look at what you achieved, and plan what comes next.',
    ],
    button: 'See my progress',
    stop: 'No more recaps',
  },
};

const PUSH: Readonly<Record<Kind, PushTemplate>> = {
  streak_reminder: {
    title: 'Keep your streak of {{streak.length}}',
    body: '{{user.name|Hello}}, it ends soon. A few minutes are enough.',
  },
  achievement_completed: {
    title: 'Well done: {{achievement.name}}',
    body: 'You completed this achievement. See what is next.',
  },
  reactivation: {
    title: '{{user.name|Hello}}, we miss you',
    body: 'Everything is where you left it.',
  },
  recap: { title: 'Your recap is here', body: 'Look at what you achieved since {{recap.periodStart}}.' },
};

const HEX_COLOUR = /^#[\da-f]{6}$/i;
const HTTPS_URL = /^https:\/\/[a-z\d.-]+(?::\d+)?(?:[/?#][^\s"'<>{}]*)?$/i;
const DEFAULT_COLOUR = '#22704f';

/** Black or white, whichever is easier to read on a colour. */
function inkOn(colour: string): string {
  const [red = 0, green = 0, blue = 0] = [1, 3, 5].map((at) => Number.parseInt(colour.slice(at, at + 2), 16));
  return red * 0.299 + green * 0.587 + blue * 0.114 > 150 ? '#111827' : '#ffffff';
}

export const PARAGRAPH_STYLE = 'margin:0 0 16px';

/** Where the app is, and its colour, if the branding has them in a form that templates accept. */
const linkOf = ({ appUrl, brandColor }: Look): { url: string; colour: string } => ({
  url: HTTPS_URL.test(appUrl) ? appUrl : PLACEHOLDER_URL,
  colour: HEX_COLOUR.test(brandColor) ? brandColor : DEFAULT_COLOUR,
});

/** The app as a phone shows it. */
export function brandOf(look: Look): { name: string; colour: string; ink: string } {
  const { colour } = linkOf(look);
  return { name: look.appName.trim() || 'Your app', colour, ink: inkOn(colour) };
}

export function buttonHtml(text: string, of: Look): string {
  const { url, colour } = linkOf(of);
  const look = `display:inline-block;padding:12px 20px;border-radius:8px;background:${colour};color:${inkOn(colour)};text-decoration:none;font-weight:bold`;
  return `<p style="margin:0 0 24px"><a href="${escapeHtml(url)}" style="${look}">${text}</a></p>`;
}

/** A template of a kind that can be saved unchanged. Only the address of the app is a placeholder, if the branding has none. */
export function starterOf(kind: Kind, of: Look): MessageTemplate {
  const { subject, title, lines, button, stop } = WORDS[kind];
  const { url } = linkOf(of);
  const app = of.appName.replaceAll(/[{}\s]+/g, ' ').trim();
  const from = app === '' ? '' : `${app} · `;
  const html = [
    '<div style="max-width:32rem;margin:0 auto;padding:24px 16px;font-family:Arial,sans-serif;font-size:16px;line-height:1.5;color:#1f2937">',
    `  <h1 style="margin:0 0 16px;font-size:22px;line-height:1.3">${title}</h1>`,
    ...lines.map((line) => `  <p style="${PARAGRAPH_STYLE}">${line}</p>`),
    `  ${buttonHtml(button, of)}`,
    `  <p style="margin:0;font-size:13px;color:#6b7280">${escapeHtml(from)}<a href="{{unsubscribeUrl}}" style="color:#6b7280">${stop}</a></p>`,
    '</div>',
  ].join('\n');
  const text = [title, ...lines, `${button}: ${url}`, `${from}${stop}: {{unsubscribeUrl}}`].join('\n\n');
  return { subject, html, text };
}

const ENTITIES: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', '#39': "'", nbsp: ' ' };

/** The text of a template's HTML: links with their addresses, and a line for each block. */
export function textOf(html: string): string {
  return html
    .replaceAll(/\s+/g, ' ')
    .replaceAll(/<a\b[^>]*?\bhref\s*=\s*["']([^"']*)["'][^>]*>(.*?)<\/a>/gi, (_, url: string, label: string) => {
      const name = label.replaceAll(/<[^>]*>/g, '').trim();
      return name === '' || name === url ? url : `${name}: ${url}`;
    })
    .replaceAll(/<img\b[^>]*?\balt\s*=\s*["']([^"']*)["'][^>]*>/gi, '$1')
    .replaceAll(/<br\b[^>]*>/gi, '\n')
    .replaceAll(/<li\b[^>]*>/gi, '\n- ')
    .replaceAll(/<\/?(?:p|h[1-6]|div|table|ul|ol|tr|blockquote)\b[^>]*>/gi, '\n\n')
    .replaceAll(/<[^>]*>/g, '')
    .replaceAll(/&(amp|lt|gt|quot|#39|nbsp);/g, (_, name: string) => ENTITIES[name]!)
    .replaceAll(/[^\S\n]*\n[^\S\n]*/g, '\n')
    .replaceAll(/\n{3,}/g, '\n\n')
    .trim();
}

/** A push template of a kind that can be saved unchanged. It opens the app that the branding names. */
export function pushStarterOf(kind: Kind, of: Look): PushTemplate {
  const { url } = linkOf(of);
  return { ...PUSH[kind], ...(url !== PLACEHOLDER_URL && { url }) };
}
