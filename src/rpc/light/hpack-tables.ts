// The two tables of HPACK (RFC 7541, appendices A and B): header fields that have a number, and the bits that letters have in a packed string.
// Data only; ./hpack.ts reads them.

/** Fields 1 to 61; those without "=" have an empty value. */
const FIELDS =
  ':authority|:method=GET|:method=POST|:path=/|:path=/index.html|:scheme=http|:scheme=https|:status=200|:status=204|:status=206|:status=304|' +
  ':status=400|:status=404|:status=500|accept-charset|accept-encoding=gzip, deflate|accept-language|accept-ranges|accept|' +
  'access-control-allow-origin|age|allow|authorization|cache-control|content-disposition|content-encoding|content-language|content-length|' +
  'content-location|content-range|content-type|cookie|date|etag|expect|expires|from|host|if-match|if-modified-since|if-none-match|if-range|' +
  'if-unmodified-since|last-modified|link|location|max-forwards|proxy-authenticate|proxy-authorization|range|referer|refresh|retry-after|' +
  'server|set-cookie|strict-transport-security|transfer-encoding|user-agent|vary|via|www-authenticate';

export type Field = readonly [name: string, value: string];

export const STATIC_FIELDS: readonly Field[] = FIELDS.split('|').map((text): Field => {
  const [name = '', value = ''] = text.split('=');
  return [name, value];
});

/** How many bits each byte has, as digits of base 36, and last the mark of the end. The codes follow from it: they are canonical. */
const LENGTHS =
  'dnsssssssoussussssssssusssssssss6aacd68baa8b8666555666666678f6ca' +
  'd67777777777777777777777878djde6f56565666577666567655677777fbeds' +
  'kmkkmmmnmnnnnnonoomnonnnnlmnmnnomlkmmnnlnmmolmnnllmlnmnnkmmmnmmn' +
  'qqkjmnmpqqqrrqopjlqrrqrollqqsrrrkoklmllnmmppooqnqrqqrrrrrsrrrrrq' +
  'u';

export const CODE_LENGTHS: readonly number[] = [...LENGTHS].map((digit) => Number.parseInt(digit, 36));
