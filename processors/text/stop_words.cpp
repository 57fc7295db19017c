// processors/text/stop_words.cpp -- words that say nothing about a text.
#include "processors/text/stop_words.hpp"

#include <unordered_set>

namespace reeve::text {

namespace {

// Separated by spaces; Korean words with the particles they mostly carry, as
// stripping those leaves less than two syllables.
constexpr std::string_view english =
  "a about above across after again against ago all almost along already "
  "also although always am among an and another any anyone anything are "
  "aren't around as at away back be became because become becomes been "
  "before began behind being below best better between both but by came can "
  "can't cannot come comes could couldn't day did didn't do does doesn't "
  "doing done don't down during each either else enough even ever every "
  "everything far few first for four from full further gave get gets give "
  "given gives go goes going gone good got had hadn't half has hasn't have "
  "haven't having he her here hers herself him himself his how however i "
  "i'd i'll i'm i've if in indeed instead into is isn't it it's its itself "
  "just keep kept know known last later least left less let like likely "
  "little long longer made make makes making many may maybe me mean might "
  "mine more most much must my myself near nearly need needs neither never "
  "new next no nobody none nor not nothing now of off often old on once one "
  "ones only onto or other others our ours ourselves out over own part per "
  "perhaps put quite rather really right said same saw say says second see "
  "seem seems seen several shall she should shouldn't since so some "
  "something sometimes soon still such take taken takes than that that's "
  "the their theirs them themselves then there there's therefore these "
  "they they're thing things third this those though three through thus "
  "till to today together too took toward towards turn two under until up "
  "upon us use used uses using usually very want wants was wasn't way ways "
  "we well went were weren't what what's whatever when where whether which "
  "while who whole whom whose why will with within without won't work would "
  "wouldn't year years yes yet you you'd you'll you're you've your yours "
  "yourself yourselves";

constexpr std::string_view korean =
  "가장 간다 같다 같은 같이 거기 거의 것과 것도 것들 것보다 것으로 것은 것을 "
  "것의 것이 "
  "것이다 겨우 결국 경우 계속 곧바로 그가 그것 그것은 그것을 그것이 그곳 그는 "
  "그대로 그들 "
  "그때 그래도 그래서 그러나 그러면 그러므로 그런 그런데 그를 그리고 그만큼 "
  "그저 근데 나는 "
  "나도 나를 나의 나중 난다 내가 너무 너의 네가 누가 누구 누구나 누군가 는데 "
  "다른 다만 다소 "
  "다시 다음 달리 당시 당신 대로 대신 대체로 대하여 대한 대해 대해서 더구나 "
  "더욱 덕분 도로 "
  "도중 동시 동안 된다 되고 되는 되어 되었다 된다는 둘째 뒤에 드디어 듯이 등의 "
  "등이 따라 "
  "따라서 때가 때는 때로 때로는 때마다 때문 때문에 때에 또는 또한 뜻이다 마다 "
  "마치 만에 "
  "많고 많다 많은 많이 말고 말로 매우 먼저 모두 모든 몹시 무슨 무엇 무엇보다 "
  "물론 및 바로 "
  "밖에 반드시 반면 밑에 번째 보다 보통 본다 비교적 비로소 비록 사실 사실상 "
  "사이 사이에 "
  "새로운 서로 설령 셋째 속에 수가 수는 수도 스스로 시작 실제 실제로 아니 "
  "아니고 아니다 "
  "아니라 아래 아마 아주 아직 안다 안에 않고 않는 않는다 않다 않아 않았다 않은 "
  "앞에 앞으로 "
  "약간 어느 어디 어디에 어떤 어떻게 어떻든 어쩌면 언제 언제나 얼마 얼마나 "
  "얼마든지 여기 "
  "여기에 여러 여럿 여전히 역시 영영 예를 오늘 오늘날 오랜 오래 오직 오히려 "
  "온갖 온다 옆에 "
  "왜냐하면 우리 우리가 우리는 우리의 우선 원래 위에 위하여 위한 위해 위해서 "
  "으로 이것 "
  "이것은 이것을 이것이 이곳 이다 이때 이라 이라고 이러한 이런 이렇게 이를 "
  "이룬다 이미 이번 "
  "이어 이어서 이와 이제 이지만 이처럼 이후 인데 일단 일이 일이다 일찍 입니다 "
  "있게 있고 "
  "있는 있다 있던 있도록 있었다 있으며 있을 있지만 자기 자꾸 자신 자주 잘못 "
  "저것 저기 저는 "
  "저런 저렇게 저의 저희 적이 전체 전혀 점점 점차 정도 정말 제가 제일 조금 "
  "조금씩 좀처럼 "
  "주로 줄이 중에 중에서 즉시 지금 지금도 지금은 진짜 차라리 차츰 참으로 첫째 "
  "치고 쪽에 "
  "통해 통해서 특히 하게 하고 하나 하나가 하나의 하나하나 하는 하는데 하며 "
  "하면 하여 하지만 "
  "한다 한다는 한때 한번 한편 할수록 함께 해도 해서 했다 했던 혹시 혹은 혼자 "
  "훨씬 흔히 "
  "그러니 그렇게 그렇다 그렇지만 그건 이건 뭔가 없고 없는 없다 없어 없었다 "
  "없으면 없이 "
  "쓴다 쓰는 쓰인 쓰인다";

using word_set = std::unordered_set<std::string_view>;

word_set all_words() {
  word_set result;
  for (auto list : {english, korean}) {
    while (!list.empty()) {
      auto end = list.find(' ');
      result.insert(list.substr(0, end));
      list.remove_prefix(end == std::string_view::npos ? list.size() : end + 1);
    }
  }
  return result;
}

} // namespace

bool is_stop_word(std::string_view word) {
  static const auto words = all_words();
  return words.contains(word);
}

} // namespace reeve::text
