import { useQuery } from '@tanstack/react-query';
import { Fragment } from 'react';
import { number } from '../../ui/format.ts';
import { kindName } from '../messages/words.ts';
import { useAsked } from './controls.tsx';
import { Figures, FigureTable, Read, Saved } from './parts.tsx';
import { type MessageEffect, messageEffectQuery, type Messages, messagesQuery } from './queries.ts';

const SHARE = new Intl.NumberFormat(undefined, { style: 'percent', maximumFractionDigits: 1 });
const COUNTS = ['sent', 'delivered', 'opened', 'clicked', 'unsubscribed', 'bounced', 'complained'] as const;
const NAMES: Readonly<Record<(typeof COUNTS)[number], string>> = {
  sent: 'Sent',
  delivered: 'Delivered',
  opened: 'Opened',
  clicked: 'Clicked',
  unsubscribed: 'Unsubscribed',
  bounced: 'Bounced',
  complained: 'Complaints',
};
const MEDIA = { email: 'e-mail', push: 'push' } as const;

export function MessagesView() {
  const { range } = useAsked();
  const messages = useQuery(messagesQuery(range));
  return (
    <>
      <Read query={messages}>{(data) => <Counts {...data} />}</Read>
      <Effect />
    </>
  );
}

function Counts({ messages, from, to }: Messages) {
  const sum = (of: (each: Messages['messages'][number]) => number): number =>
    messages.reduce((total, each) => total + of(each), 0);
  return (
    <>
      <Figures
        of={COUNTS.slice(0, 4).map((count) => ({
          name: NAMES[count],
          now: sum((each) => each[count]),
          before: sum(({ before }) => before[count]),
        }))}
      />
      <Saved
        title="Messages by kind"
        file={`messages-${from}-${to}`}
        rows={messages.flatMap(({ kind, medium, days }) => days.map((day) => ({ kind, medium, ...day })))}
        note="A message counts on the UTC day on which it fell due. Delivered, bounced and complaints are what the mail provider reports. Opens and clicks are recorded only if you turn it on under Messages; mail programs that load pictures or check links on their own count, too."
      >
        {messages.length === 0 ? (
          <p className="text-muted">No messages in this period.</p>
        ) : (
          <FigureTable
            label="Messages by kind"
            head={['Kind', ...COUNTS.map((count) => NAMES[count])]}
            rows={messages.map(({ kind, medium, ...counts }) => ({
              key: `${kind} ${medium}`,
              cells: [`${kindName(kind)} (${MEDIA[medium]})`, ...COUNTS.map((count) => number(counts[count]))],
            }))}
          />
        )}
      </Saved>
    </>
  );
}

function Effect() {
  const { range } = useAsked();
  return <Read query={useQuery(messageEffectQuery(range))}>{(data) => <Effects {...data} />}</Read>;
}

function Effects({ kinds, from, to }: MessageEffect) {
  return (
    <Saved
      title="Do messages bring users back?"
      file={`message-effect-${from}-${to}`}
      rows={kinds.flatMap(({ kind, reached, returned }) => returned.map((each) => ({ kind, reached, ...each })))}
      note="Users for whom a message fell due, sent or not, against users of the control group from whom it was withheld. A user counts with the first message of the kind in the period, and returned with an event in the days after it. The interval contains the true difference in 95 of 100 cases. Reaches back as far as the log of messages."
    >
      {kinds.length === 0 ? (
        <p className="text-muted">No messages in this period.</p>
      ) : (
        kinds.map(({ kind, returned, isSampled }) => (
          <Fragment key={kind}>
            <h3 className="mt-3 font-medium first:mt-0">{kindName(kind)}</h3>
            <FigureTable
              label={`Effect of: ${kindName(kind)}`}
              head={['Returned within', 'With messages', 'Control group']}
              rows={returned.map((each) => ({
                key: String(each.afterDays),
                cells: [
                  each.afterDays === 1 ? '1 day' : `${each.afterDays} days`,
                  shareOf(each.returned, each.users),
                  shareOf(each.controlReturned, each.controlUsers),
                ],
              }))}
            />
            <ul className="my-2 flex max-w-prose list-disc flex-col gap-1 pl-5">
              {returned.map(({ afterDays, conclusion }) => (
                <li key={afterDays}>
                  {afterDays === 1 ? '1 day' : `${afterDays} days`}: {conclusion}
                </li>
              ))}
            </ul>
            {isSampled && (
              <p className="text-xs text-muted">From a sample of the users, at most 20,000 of each group.</p>
            )}
          </Fragment>
        ))
      )}
    </Saved>
  );
}

const shareOf = (count: number, of: number): string =>
  of === 0 ? '–' : `${SHARE.format(count / of)} of ${number(of)}`;
