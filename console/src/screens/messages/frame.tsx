import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { CircleCheck, CircleX, TriangleAlert } from 'lucide-react';
import type { ReactNode } from 'react';
import { Screen } from '../../ui/parts.tsx';
import { TAB, TAB_BAR } from '../../ui/tabs.ts';
import { checksOf, type Check } from './checks.ts';
import { channelQuery, readinessQuery, settingsQuery, waitingQuery } from './queries.ts';

const TABS = [
  { to: '/messages', text: 'Templates' },
  { to: '/messages/channel', text: 'Channel' },
  { to: '/messages/log', text: 'Log' },
] as const;

/** A tab of the messages, with what keeps e-mails from being sent. */
export const MessagesScreen = ({ tab, children }: { tab: (typeof TABS)[number]['text']; children: ReactNode }) => (
  <Screen
    title="Messages"
    name={tab === 'Templates' ? 'Messages' : `${tab} of messages`}
    about="E-mails that Laurel sends itself, to bring users back: you write templates, your mail server delivers them."
  >
    <nav aria-label="Messages" className={TAB_BAR}>
      {TABS.map(({ to, text }) => (
        <Link key={to} to={to} activeOptions={{ exact: true }} className={TAB}>
          {text}
        </Link>
      ))}
    </nav>
    <Checks here={TABS.find(({ text }) => text === tab)!.to} />
    {children}
  </Screen>
);

/** Says whether e-mails are sent, and what to do if not. */
function Checks({ here }: { here: string }) {
  const channel = useQuery(channelQuery).data;
  const readiness = useQuery(readinessQuery).data;
  const settings = useQuery(settingsQuery).data;
  const waiting = useQuery(waitingQuery).data;
  if (channel === undefined || readiness === undefined || settings === undefined || waiting === undefined) return null;
  const checks = checksOf({ channel, readiness, settings, waiting });
  const isSending = checks.every(({ state }) => state !== 'missing');
  return (
    <section
      aria-label="Status"
      className="flex flex-col gap-2 rounded-lg border border-line bg-surface px-3 py-2.5 empty:hidden"
    >
      <p className="flex items-start gap-2 font-semibold">
        {isSending ? (
          <CircleCheck size={16} className="mt-0.5 shrink-0 text-accent" aria-hidden />
        ) : (
          <CircleX size={16} className="mt-0.5 shrink-0 text-danger" aria-hidden />
        )}
        {isSending ? 'E-mails are sent.' : 'No e-mails are sent.'}
      </p>
      {checks.length > 0 && (
        <ul className="flex flex-col gap-2">
          {checks.map((check) => (
            <CheckLine key={check.text} check={check} here={here} />
          ))}
        </ul>
      )}
    </section>
  );
}

const PLACES = {
  '/messages': 'Open the templates',
  '/messages/channel': 'Open the channel',
  '/messages/log': 'Open the log',
} as const;

const CheckLine = ({ check: { state, text, advice, to }, here }: { check: Check; here: string }) => (
  <li className="flex items-start gap-2">
    <TriangleAlert
      size={16}
      className={`mt-0.5 shrink-0 ${state === 'missing' ? 'text-danger' : 'text-warn'}`}
      aria-hidden
    />
    <div className="min-w-0 break-words">
      {text} <span className="text-muted">{advice}</span>{' '}
      {to !== null && to !== here && (
        <Link to={to} activeOptions={{ exact: true }} className="whitespace-nowrap text-accent underline">
          {PLACES[to]}
        </Link>
      )}
    </div>
  </li>
);
