import { ago, moment } from '../../ui/format.ts';
import { Tag } from '../../ui/parts.tsx';
import { adviceOn, statusWords, type Message } from './words.ts';

/** The status of an e-mail. */
export const MessageStatus = ({ of }: { of: string }) => {
  const { text, tone, meaning } = statusWords(of);
  return (
    <span title={meaning}>
      <Tag tone={tone}>{text}</Tag>
    </span>
  );
};

/** Why an e-mail has its status, and what to do about it. */
export function Reason({ of: { status, reason, nextTry, tries } }: { of: Message }) {
  const advice = status === 'failed' || tries > 0 ? adviceOn(reason) : null;
  const facts = [
    reason ?? statusWords(status).meaning,
    ...(nextTry === null ? [] : [`next attempt ${ago(nextTry)}`]),
    ...(tries > 1 ? [`${tries} attempts`] : []),
  ].filter((fact) => fact !== '');
  return (
    <>
      <span className="first-letter:uppercase" {...(nextTry !== null && { title: moment(nextTry) })}>
        {facts.join(' · ')}
      </span>
      {advice !== null && <span className="block text-muted">{advice}</span>}
    </>
  );
}
